import { below, type Call, type Connection, conditional, conditions, encode, pages, plain } from './connection.js'
import { FoliotError, ProblemError, ReplacedError, TransportError } from './errors.js'
import type { CallOptions, ConditionOptions, KeyOptions } from './options.js'
import { busy, milliseconds, sleep } from './retry.js'
import type {
  BatchReply, BatchResult, BulkReply, CancelTasksQuery, ListTasksQuery, ListUpcomingQuery, MoveInput, MoveTasksQuery, RetryTasksQuery,
  Task, TaskInput, TaskList, TaskPatch, Upcoming,
} from './types.gen.js'

/** A request to forward later: a POST to url with that body and those headers. */
export interface Publication {
  url: string
  body?: string | Uint8Array
  /** Headers for the receiver. */
  headers?: Record<string, string>
  /** The due time. Without at and delay the task is due at once. */
  at?: string | Date
  delay?: string
  name?: string
  queue?: string
  /** The number of attempts after a failed one. Default: attempts go on until the queue's max_age is over. */
  retries?: number | bigint
}

const maxBatch = 1000
const maxBatchBytes = 16 << 20
const manyTimeout = 30 * 60_000

/** The calls about tasks. */
export class Tasks {
  constructor(private readonly connection: Connection) {}

  /** Creates a task. If the name is taken: 409, exists. */
  create(task: TaskInput, options: KeyOptions = {}): Promise<Task> {
    return this.connection.call(
      { op: 'create ' + (task.name ?? 'a task'), method: 'POST', path: '/v1/tasks', json: task, headers: { 'Idempotency-Key': keyOf(options) }, repeatable: true },
      options,
    )
  }

  /**
   * Creates any number of tasks, each one independently. It sends requests of at most 1000 tasks and 16 MiB.
   * results[i] belongs to tasks[i]; a status of 400 or more is its error. A request that may have arrived is not
   * repeated. Give the tasks names: a repeat by you then shows which of them exist.
   */
  async createBatch(tasks: readonly TaskInput[], options: CallOptions = {}): Promise<BatchResult[]> {
    const bodies = [...batches(tasks)] // a task that JSON cannot encode is found before the first request
    const results: BatchResult[] = []
    for (const body of bodies) {
      try {
        const reply = await this.connection.call<BatchReply>(
          { op: 'create a batch', method: 'POST', path: '/v1/tasks/batch', reads: 'results', body, headers: { 'Content-Type': 'application/json' }, repeatable: false },
          options,
        )
        for (const result of reply.results) results.push(result)
      } catch (error) {
        if (error instanceof FoliotError) error.results = results
        throw error
      }
    }
    return results
  }

  /** Creates the task with that name, or replaces it. A repeat by the client changes nothing. */
  put(name: string, task: TaskInput, options: ConditionOptions & KeyOptions = {}): Promise<Task> {
    const headers = { ...conditions(options), 'Idempotency-Key': keyOf(options) }
    return this.connection.call({ op: 'put ' + name, method: 'PUT', path: taskPath(name), json: task, headers, repeatable: true }, options)
  }

  /** Returns a task. With wait, such as "30s", it returns as soon as the task is finished or dead, or after that time. */
  get(name: string, options: CallOptions & { wait?: string } = {}): Promise<Task> {
    const { wait } = options
    return this.connection.call(
      { op: 'get ' + name, method: 'GET', path: taskPath(name), reads: 'id', query: { wait }, extra: milliseconds(wait ?? ''), repeatable: true },
      options,
    )
  }

  /** Returns a task when it is finished or dead. It goes on across a restart of the server. */
  async wait(name: string, options: CallOptions = {}): Promise<Task> {
    let task = await this.get(name, options)
    const { id } = task
    let answered = Date.now()
    while (!task.finished_at) {
      const asked = Date.now()
      try {
        task = await this.get(name, { ...options, wait: '30s' })
        answered = Date.now()
      } catch (error) {
        if (!temporary(error) || Date.now() - answered > outage) throw error
      }
      if (task.id !== id) throw new ReplacedError('wait for ' + name)
      if (!task.finished_at) await sleep(Math.max(0, asked + 250 - Date.now()), options.signal) // a server that is stopping answers at once
    }
    return task
  }

  /** Yields the tasks that match, page by page. */
  list(query: ListTasksQuery = {}, options: CallOptions = {}): AsyncGenerator<Task, void, undefined> {
    const all = { limit: query.include === 'body' ? 100 : 1000, ...query }
    return pages((cursor) => this.page({ ...all, cursor }, options), (page) => page.tasks, query.cursor)
  }

  /** Returns one page of the tasks that match. */
  page(query: ListTasksQuery = {}, options: CallOptions = {}): Promise<TaskList> {
    return this.connection.call({ op: 'list tasks', method: 'GET', path: '/v1/tasks', reads: 'tasks', query, repeatable: true }, options)
  }

  /** Returns the tasks and the instants of schedules that are due next. */
  upcoming(query: ListUpcomingQuery = {}, options: CallOptions = {}): Promise<Upcoming> {
    return this.connection.call({ op: 'list upcoming tasks', method: 'GET', path: '/v1/upcoming', query, repeatable: true }, options)
  }

  /** Changes some fields of a task. */
  patch(name: string, patch: TaskPatch, options: ConditionOptions = {}): Promise<Task> {
    return this.connection.call({ op: 'patch ' + name, method: 'PATCH', path: taskPath(name), json: patch, headers: conditions(options), repeatable: false }, options)
  }

  /** Moves a task to another due time. */
  async move(name: string, to: { at: string | Date } | { delay: string }, options: ConditionOptions = {}): Promise<Task> {
    const { at, delay }: TaskPatch = to ?? {}
    if ((at ?? delay) === undefined) throw new TypeError(`move ${name}: pass { at } or { delay }`)
    return this.patch(name, to, options)
  }

  /** Restarts the delay of a task, as the heartbeat of a watchdog does. */
  touch(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.act('touch', name, !conditional(options), options)
  }

  /** Makes a waiting task due now. */
  run(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.act('run', name, false, options)
  }

  /** Restarts a dead task, or a finished one if its queue keeps bodies. */
  retry(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.act('retry', name, false, options)
  }

  /** Cancels a task. Without under_way in the reply, no attempt starts any more. With it, the last attempt may be under way. */
  cancel(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.connection.call({ op: 'cancel ' + name, method: 'DELETE', path: taskPath(name), headers: conditions(options), repeatable: !conditional(options) }, options)
  }

  /** Cancels the tasks that match. It requires a filter, or all: true. A call that ends early has changed some of the tasks. */
  cancelMany(query: CancelTasksQuery, options: CallOptions = {}): Promise<BulkReply> {
    return this.many('cancel', { query }, options)
  }

  /** Retries the tasks that match: without a state the dead ones. Otherwise it behaves as cancelMany. */
  retryMany(query: RetryTasksQuery, options: CallOptions = {}): Promise<BulkReply> {
    return this.many('retry', { query }, options)
  }

  /** Changes the due times of the tasks that match. Otherwise it behaves as cancelMany. */
  moveMany(query: MoveTasksQuery, to: MoveInput, options: CallOptions = {}): Promise<BulkReply> {
    return this.many('move', { query, json: to }, options)
  }

  /** Creates a task that forwards a request. */
  publish(publication: Publication, options: KeyOptions = {}): Promise<Task> {
    const { url, body, at, delay, name, queue, retries } = publication
    const headers: Record<string, string | undefined> = {
      'Foliot-At': at && plain(at), 'Foliot-Delay': delay, 'Foliot-Name': name, 'Foliot-Queue': queue, 'Foliot-Retries': retries?.toString(), 'Idempotency-Key': keyOf(options),
    }
    for (const [header, value] of Object.entries(publication.headers ?? {})) headers[forwarded(header)] = value
    return this.connection.call({ op: 'publish ' + (name ?? 'to ' + url), method: 'POST', path: '/v1/publish', query: { url }, body, headers, repeatable: true }, options)
  }

  private act(verb: string, name: string, repeatable: boolean, options: ConditionOptions): Promise<Task> {
    return this.connection.call({ op: verb + ' ' + name, method: 'POST', path: taskPath(name) + '/' + verb, headers: conditions(options), repeatable }, options)
  }

  private many(verb: string, c: Pick<Call, 'query' | 'json'>, options: CallOptions): Promise<BulkReply> {
    return this.connection.call({ ...c, op: verb + ' tasks', method: 'POST', path: '/v1/tasks/' + verb, extra: manyTimeout, repeatable: false }, options)
  }
}

/** The time for which wait continues without a reply. */
const outage = 90_000

/** Reports whether an error may pass by itself, as an error during a restart does. */
function temporary(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status === 429 || busy(error.status)
  return error instanceof TransportError && !error.permanent
}

/** Splits tasks into the bodies of requests. */
function* batches(tasks: readonly TaskInput[]): Generator<string> {
  let items: string[] = []
  let size = 0
  for (const task of tasks) {
    const item = encode(task)
    const bytes = Buffer.byteLength(item) + 1
    if (items.length === maxBatch || (items.length > 0 && size + bytes + 12 > maxBatchBytes)) {
      yield `{"tasks":[${items}]}`
      items = []
      size = 0
    }
    items.push(item)
    size += bytes
  }
  if (items.length > 0) yield `{"tasks":[${items}]}`
}

/** Content headers reach the receiver as they are. All others need a prefix. */
function forwarded(header: string): string {
  return /^(content-(type|encoding|language|disposition|digest)$|foliot-forward-)/i.test(header) ? header : 'Foliot-Forward-' + header
}

export function keyOf({ idempotencyKey }: KeyOptions): string {
  return idempotencyKey ?? crypto.randomUUID()
}

function taskPath(name: string): string {
  return below('/v1/tasks/', name)
}
