import { below, type Call, pages, plain } from './call.js'
import type { Connection } from './connection.js'
import { FoliotError, ProblemError, ReplacedError, TransportError } from './errors.js'
import type { AllOptions, CallOptions, ConditionOptions, ExpectOptions, KeyOptions, PutOptions } from './options.js'
import { busy, milliseconds, sleep } from './retry.js'
import type {
  BulkReply, CancelTasksQuery, ListTasksQuery, ListUpcomingQuery, MoveInput, MoveTasksQuery, RetryTasksQuery, Task, TaskInput, TaskList, TaskPatch,
  Upcoming,
} from './types.gen.js'

/** The result of a cancel. */
export interface Cancelled {
  task: Task
  /** An attempt is in progress, or may still begin, and it is the last one. If it is false, no attempt starts any more. */
  underWay: boolean
  /** The task was cancelled before this call. */
  already: boolean
}

/** The result of one task of createMany, putMany or cancelMany: the task, or the error that the single call throws. */
export type Result = { task: Task; error?: undefined } | { task?: undefined; error: FoliotError }

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

const matchingTimeout = 30 * 60_000

/** The calls about tasks. */
export class Tasks {
  constructor(private readonly connection: Connection) {}

  /** Creates a task. If the name is taken: 409, exists. */
  create(task: TaskInput, options: KeyOptions = {}): Promise<Task> {
    return this.call(createCall(task), options)
  }

  /**
   * Creates any number of tasks, each one independently, in batches of at most 1000 tasks and 8 MiB. results[i] belongs
   * to tasks[i]. Each task has an idempotency key of its own, so its repeats by the client create one task.
   */
  createMany(tasks: readonly TaskInput[], options: CallOptions = {}): Promise<Result[]> {
    return this.many(tasks.map(createCall), options)
  }

  /** Creates the task with that name, or replaces it. A repeat by the client changes nothing. */
  put(name: string, task: TaskInput, options: PutOptions & KeyOptions = {}): Promise<Task> {
    return this.call(putCall(name, task), options)
  }

  /** Puts any number of tasks, each one by its name. Otherwise it behaves as createMany. */
  putMany(tasks: ReadonlyArray<TaskInput & { name: string }>, options: CallOptions = {}): Promise<Result[]> {
    return this.many(tasks.map((task) => putCall(task.name, task)), options)
  }

  /** Returns a task. With wait, such as "30s", it returns as soon as the task is finished or dead, or after that time. */
  get(name: string, options: CallOptions & { wait?: string } = {}): Promise<Task> {
    const { wait } = options
    return this.call({ op: 'get ' + name, method: 'GET', path: taskPath(name), reads: 'id', query: { wait }, takes: ['wait'], extra: milliseconds(wait ?? ''), repeat: 'always' }, options)
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
    return this.call({ op: 'list tasks', method: 'GET', path: '/v1/tasks', reads: 'tasks', query, repeat: 'always' }, options)
  }

  /** Returns the tasks and the instants of schedules that are due next. */
  upcoming(query: ListUpcomingQuery = {}, options: CallOptions = {}): Promise<Upcoming> {
    return this.call({ op: 'list upcoming tasks', method: 'GET', path: '/v1/upcoming', query, repeat: 'always' }, options)
  }

  /** Changes some fields of a task. */
  patch(name: string, patch: TaskPatch, options: ConditionOptions = {}): Promise<Task> {
    return this.call({ op: 'patch ' + name, method: 'PATCH', path: taskPath(name), json: patch, takes: ['ifMatch'], repeat: 'never' }, options)
  }

  /** Moves a task to another due time. With timezone, such as "Europe/Berlin", at is a local time such as "2027-03-28 09:00". */
  async move(name: string, to: { at: string | Date; timezone?: string } | { delay: string }, options: ConditionOptions = {}): Promise<Task> {
    const { at, delay }: TaskPatch = to ?? {}
    if ((at ?? delay) === undefined) throw new TypeError(`move ${name}: pass { at } or { delay }`)
    return this.patch(name, to, options)
  }

  /** Restarts the delay of a task, as the heartbeat of a watchdog does. */
  touch(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.act('touch', name, { verb: 'touch', name, repeat: 'unconditional' }, options)
  }

  /** Makes a waiting task due now. */
  run(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.act('run', name, { repeat: 'never' }, options)
  }

  /** Restarts a dead task, or a finished one if its queue keeps bodies. */
  retry(name: string, options: ConditionOptions = {}): Promise<Task> {
    return this.act('retry', name, { repeat: 'never' }, options)
  }

  /** Cancels a task. */
  async cancel(name: string, options: ConditionOptions = {}): Promise<Cancelled> {
    const task = await this.call<Task>(cancelCall(name), options)
    return { task, underWay: task.under_way ?? false, already: task.already ?? false }
  }

  /** Cancels any number of tasks by their names, as createMany creates them. Task.under_way and already are the rest of what cancel returns. */
  cancelMany(names: readonly string[], options: CallOptions = {}): Promise<Result[]> {
    return this.many(names.map(cancelCall), options)
  }

  /** Cancels the tasks that match. It requires a filter, or all: true. A call that ends early has changed some of the tasks. */
  cancelMatching(query: Omit<CancelTasksQuery, 'expect'>, options: ExpectOptions = {}): Promise<BulkReply> {
    return this.matching('cancel', query, undefined, options)
  }

  /** Retries the tasks that match: without a state the dead ones. Otherwise it behaves as cancelMatching. */
  retryMatching(query: Omit<RetryTasksQuery, 'expect'>, options: ExpectOptions = {}): Promise<BulkReply> {
    return this.matching('retry', query, undefined, options)
  }

  /** Changes the due times of the tasks that match. Otherwise it behaves as cancelMatching. */
  moveMatching(query: Omit<MoveTasksQuery, 'expect'>, to: MoveInput, options: ExpectOptions = {}): Promise<BulkReply> {
    return this.matching('move', query, to, options)
  }

  /** Creates a task that forwards a request. */
  publish(publication: Publication, options: KeyOptions = {}): Promise<Task> {
    const { url, body, at, delay, name, queue, retries } = publication
    const headers: Record<string, string | undefined> = {
      'Foliot-At': at && plain(at), 'Foliot-Delay': delay, 'Foliot-Name': name, 'Foliot-Queue': queue, 'Foliot-Retries': retries?.toString(),
    }
    for (const [header, value] of Object.entries(publication.headers ?? {})) headers[forwarded(header)] = value
    return this.call({ op: 'publish ' + (name ?? 'to ' + url), method: 'POST', path: '/v1/publish', query: { url }, body, headers, takes: ['key'], repeat: 'always' }, options)
  }

  private call<T>(c: Call, options: AllOptions): Promise<T> {
    return this.connection.call(c, options)
  }

  private act(verb: string, name: string, c: Pick<Call, 'verb' | 'name' | 'repeat'>, options: ConditionOptions): Promise<Task> {
    return this.call({ ...c, op: verb + ' ' + name, method: 'POST', path: taskPath(name) + '/' + verb, takes: ['ifMatch'] }, options)
  }

  private matching(verb: string, filter: object, json: MoveInput | undefined, options: ExpectOptions): Promise<BulkReply> {
    const query = { ...filter, ...(options.expect === undefined ? {} : { expect: options.expect }) }
    return this.call({ op: verb + ' tasks', method: 'POST', path: '/v1/tasks/' + verb, query, json, takes: ['expect'], extra: matchingTimeout, repeat: 'never' }, options)
  }

  private async many(calls: Call[], options: CallOptions): Promise<Result[]> {
    const outcomes = await this.connection.many<Task>(calls, options)
    return outcomes.map((outcome) => (outcome instanceof FoliotError ? { error: outcome } : { task: outcome }))
  }
}

function createCall(task: TaskInput): Call {
  return { op: 'create ' + (task.name ?? 'a task'), method: 'POST', path: '/v1/tasks', json: task, takes: ['key'], verb: 'create', repeat: 'always' }
}

function putCall(name: string, task: TaskInput): Call {
  const own = (task.name ?? name) === name // with another name, the server refuses the single call
  return {
    op: 'put ' + name, method: 'PUT', path: taskPath(name), json: own ? { ...task, name } : task, takes: ['key', 'ifMatch', 'ifNoneMatch'],
    verb: own ? 'put' : undefined, repeat: 'always',
  }
}

function cancelCall(name: string): Call {
  return { op: 'cancel ' + name, method: 'DELETE', path: taskPath(name), takes: ['ifMatch'], verb: 'cancel', name, repeat: 'unconditional' }
}

/** The time for which wait continues without a reply. */
const outage = 90_000

/** Reports whether an error may pass by itself, as an error during a restart does. */
function temporary(error: unknown): boolean {
  if (error instanceof ProblemError) return error.status === 429 || busy(error.status)
  return error instanceof TransportError && !error.permanent
}

/** Content headers reach the receiver as they are. All others need a prefix. */
function forwarded(header: string): string {
  return /^(content-(type|encoding|language|disposition|digest)$|foliot-forward-)/i.test(header) ? header : 'Foliot-Forward-' + header
}

function taskPath(name: string): string {
  return below('/v1/tasks/', name)
}
