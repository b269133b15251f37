import { below, type Call, pages } from './call.js'
import type { Connection } from './connection.js'
import type { AllOptions, CallOptions, ConditionOptions, ExpectOptions, PutOptions } from './options.js'
import type { ListQueuesQuery, Queue, QueueInput, QueueList } from './types.gen.js'

/** The calls about queues. */
export class Queues {
  constructor(private readonly connection: Connection) {}

  /** Replaces the limits, defaults and retention of a queue. A pause or purge goes on. */
  put(name: string, settings: QueueInput, options: PutOptions = {}): Promise<Queue> {
    return this.one('put', name, { method: 'PUT', json: settings, takes: ['ifMatch', 'ifNoneMatch'], repeat: 'unconditional' }, options)
  }

  /** Returns a queue. If it has neither settings nor tasks: 404. */
  get(name: string, options: CallOptions = {}): Promise<Queue> {
    return this.one('get', name, { method: 'GET', repeat: 'always' }, options)
  }

  /** Yields the queues, page by page. */
  list(query: ListQueuesQuery = {}, options: CallOptions = {}): AsyncGenerator<Queue, void, undefined> {
    const read = (cursor: string | undefined) =>
      this.connection.call<QueueList>({ op: 'list queues', method: 'GET', path: '/v1/queues', reads: 'queues', query: { ...query, cursor }, repeat: 'always' }, options)
    return pages(read, (page) => page.queues, query.cursor)
  }

  /** Deletes the settings of a queue. Its tasks stay. */
  delete(name: string, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('delete', name, { method: 'DELETE', takes: ['ifMatch'], repeat: 'never' }, options)
  }

  /**
   * Stops a queue: no attempt starts on any node, except of tasks that are run by hand. With until, the queue resumes by
   * itself. The nodes in unconfirmed of the reply have not stopped yet: repeat the call to see if they have.
   */
  pause(name: string, options: PutOptions & { until?: string | Date } = {}): Promise<Queue> {
    const { until } = options
    return this.one('pause', name, { method: 'POST', json: { until }, takes: ['until', 'ifMatch', 'ifNoneMatch'], repeat: 'unconditional' }, options, '/pause')
  }

  /** Ends a pause. */
  resume(name: string, options: ConditionOptions = {}): Promise<Queue> {
    return this.one('resume', name, { method: 'POST', takes: ['ifMatch'], repeat: 'unconditional' }, options, '/resume')
  }

  /**
   * Cancels all unfinished tasks of a queue, in the background. A repeat would also cancel later tasks, so there is none.
   * With expect it cancels nothing unless the queue has exactly that many unfinished tasks.
   */
  purge(name: string, options: ConditionOptions & ExpectOptions = {}): Promise<Queue> {
    const { expect } = options
    return this.one('purge', name, { method: 'POST', query: { expect }, takes: ['expect', 'ifMatch'], repeat: 'never' }, options, '/purge')
  }

  private one<T>(verb: string, name: string, c: Omit<Call, 'op' | 'path'>, options: AllOptions, action = ''): Promise<T> {
    return this.connection.call({ ...c, op: `${verb} queue ${name}`, path: below('/v1/queues/', name) + action }, options)
  }
}
