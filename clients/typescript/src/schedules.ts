import { below, type Call, pages } from './call.js'
import type { Connection } from './connection.js'
import type { AllOptions, CallOptions, ConditionOptions, KeyOptions, PutOptions } from './options.js'
import type {
  BackfillInput, BackfillReply, ListSchedulesQuery, Preview, PreviewRuleQuery, PreviewScheduleQuery, RulePreview, Schedule, ScheduleInput,
  ScheduleList, ScheduleRule, Task,
} from './types.gen.js'

/** The calls about schedules. */
export class Schedules {
  constructor(private readonly connection: Connection) {}

  /** Creates a schedule, or changes it. */
  put(name: string, schedule: ScheduleInput, options: PutOptions = {}): Promise<Schedule> {
    return this.one('put', name, { method: 'PUT', json: schedule, takes: ['ifMatch', 'ifNoneMatch'], repeat: 'unconditional' }, options)
  }

  /** Returns a schedule. */
  get(name: string, options: CallOptions = {}): Promise<Schedule> {
    return this.one('get', name, { method: 'GET', repeat: 'always' }, options)
  }

  /** Yields the schedules, page by page. */
  list(query: ListSchedulesQuery = {}, options: CallOptions = {}): AsyncGenerator<Schedule, void, undefined> {
    const read = (cursor: string | undefined) =>
      this.connection.call<ScheduleList>({ op: 'list schedules', method: 'GET', path: '/v1/schedules', reads: 'schedules', query: { ...query, cursor }, repeat: 'always' }, options)
    return pages(read, (page) => page.schedules, query.cursor)
  }

  /** Deletes a schedule, and returns its last state. Its tasks stay. */
  delete(name: string, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('delete', name, { method: 'DELETE', takes: ['ifMatch'], repeat: 'never' }, options)
  }

  /** Stops a schedule from creating tasks until it is resumed. */
  pause(name: string, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('pause', name, { method: 'POST', takes: ['ifMatch'], repeat: 'unconditional' }, options, '/pause')
  }

  /** Continues a schedule with its next instant. */
  resume(name: string, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('resume', name, { method: 'POST', takes: ['ifMatch'], repeat: 'unconditional' }, options, '/resume')
  }

  /** Creates a task of a schedule that is due now. */
  trigger(name: string, options: ConditionOptions & KeyOptions = {}): Promise<Task> {
    return this.one('trigger', name, { method: 'POST', takes: ['key', 'ifMatch'], repeat: 'always' }, options, '/trigger')
  }

  /** Creates the tasks of past instants. A repeat creates no task twice. */
  backfill(name: string, range: BackfillInput, options: ConditionOptions = {}): Promise<BackfillReply> {
    return this.one('backfill', name, { method: 'POST', json: range, takes: ['ifMatch'], extra: 5 * 60_000, repeat: 'always' }, options, '/backfill')
  }

  /** Returns the next instants of a schedule. */
  preview(name: string, query: PreviewScheduleQuery = {}, options: CallOptions = {}): Promise<Preview> {
    return this.one('preview', name, { method: 'GET', query, repeat: 'always' }, options, '/preview')
  }

  /** Returns the instants of a rule that is not stored. */
  previewRule(rule: ScheduleRule, query: PreviewRuleQuery = {}, options: CallOptions = {}): Promise<RulePreview> {
    return this.connection.call({ op: 'preview a rule', method: 'POST', path: '/v1/schedules/preview', json: rule, query, repeat: 'always' }, options)
  }

  private one<T>(verb: string, name: string, c: Omit<Call, 'op' | 'path'>, options: AllOptions, action = ''): Promise<T> {
    return this.connection.call({ ...c, op: `${verb} schedule ${name}`, path: below('/v1/schedules/', name) + action }, options)
  }
}
