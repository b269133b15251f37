import { below, type Call, type Connection, conditional, conditions, pages } from './connection.js'
import type { CallOptions, ConditionOptions } from './options.js'
import type { ListQueuesQuery, PauseInput, PurgeQueueQuery, Queue, QueueInput, QueueList } from './types.gen.js'

/** The calls about queues. */
export class Queues {
  constructor(private readonly connection: Connection) {}

  /** Replaces the limits, defaults and retention of a queue. A pause or purge goes on. */
  put(name: string, settings: QueueInput, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('put', name, { method: 'PUT', json: settings, headers: conditions(options), repeatable: !conditional(options) }, options)
  }

  /** Returns a queue. If it has neither settings nor tasks: 404. */
  get(name: string, options: CallOptions = {}): Promise<Queue> {
    return this.one('get', name, { method: 'GET', repeatable: true }, options)
  }

  /** Yields the queues, page by page. */
  list(query: ListQueuesQuery = {}, options: CallOptions = {}): AsyncGenerator<Queue, void, undefined> {
    const read = (cursor: string | undefined) =>
      this.connection.call<QueueList>({ op: 'list queues', method: 'GET', path: '/v1/queues', reads: 'queues', query: { ...query, cursor }, repeatable: true }, options)
    return pages(read, (page) => page.queues, query.cursor)
  }

  /** Deletes the settings of a queue. Its tasks stay. */
  delete(name: string, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('delete', name, { method: 'DELETE', headers: conditions(options), repeatable: false }, options)
  }

  /**
   * Stops a queue: no attempt starts on any node, except of tasks that are run by hand. With for or until, the queue
   * resumes by itself. The nodes in unconfirmed of the reply have not stopped yet: repeat the call to see if they have.
   */
  pause(name: string, pause: PauseInput = {}, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('pause', name, { method: 'POST', json: pause, headers: conditions(options), repeatable: !conditional(options) }, options, '/pause')
  }

  /** Ends a pause. */
  resume(name: string, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('resume', name, { method: 'POST', headers: conditions(options), repeatable: !conditional(options) }, options, '/resume')
  }

  /** Cancels all unfinished tasks of a queue, in the background. A repeat would also cancel later tasks, so there is none. */
  purge(name: string, query: PurgeQueueQuery = {}, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('purge', name, { method: 'POST', query, headers: conditions(options), repeatable: false }, options, '/purge')
  }

  private one<T>(verb: string, name: string, c: Omit<Call, 'op' | 'path'>, options: CallOptions, action = ''): Promise<T> {
    return this.connection.call({ ...c, op: `${verb} queue ${name}`, path: below('/v1/queues/', name) + action }, options)
  }
}
