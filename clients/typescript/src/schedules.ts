import { below, type Call, type Connection, conditional, conditions, pages } from './connection.js'
import type { CallOptions, ConditionOptions, KeyOptions } from './options.js'
import { keyOf } from './tasks.js'
import type {
  BackfillInput, BackfillReply, ListSchedulesQuery, Preview, PreviewRuleQuery, PreviewScheduleQuery, RulePreview, Schedule, ScheduleInput,
  ScheduleList, ScheduleRule, Task,
} from './types.gen.js'

/** The calls about schedules. */
export class Schedules {
  constructor(private readonly connection: Connection) {}

  /** Creates a schedule, or changes it. */
  put(name: string, schedule: ScheduleInput, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('put', name, { method: 'PUT', json: schedule, headers: conditions(options), repeatable: !conditional(options) }, options)
  }

  /** Returns a schedule. */
  get(name: string, options: CallOptions = {}): Promise<Schedule> {
    return this.one('get', name, { method: 'GET', repeatable: true }, options)
  }

  /** Yields the schedules, page by page. */
  list(query: ListSchedulesQuery = {}, options: CallOptions = {}): AsyncGenerator<Schedule, void, undefined> {
    const read = (cursor: string | undefined) =>
      this.connection.call<ScheduleList>({ op: 'list schedules', method: 'GET', path: '/v1/schedules', reads: 'schedules', query: { ...query, cursor }, repeatable: true }, options)
    return pages(read, (page) => page.schedules, query.cursor)
  }

  /** Deletes a schedule, and returns its last state. Its tasks stay. */
  delete(name: string, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('delete', name, { method: 'DELETE', headers: conditions(options), repeatable: false }, options)
  }

  /** Stops a schedule from creating tasks until it is resumed. */
  pause(name: string, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('pause', name, { method: 'POST', headers: conditions(options), repeatable: !conditional(options) }, options, '/pause')
  }

  /** Continues a schedule with its next instant. */
  resume(name: string, options: ConditionOptions = {}): Promise<Schedule> {
    return this.one('resume', name, { method: 'POST', headers: conditions(options), repeatable: !conditional(options) }, options, '/resume')
  }

  /** Creates a task of a schedule that is due now. */
  trigger(name: string, options: ConditionOptions & KeyOptions = {}): Promise<Task> {
    const headers = { ...conditions(options), 'Idempotency-Key': keyOf(options) }
    return this.one('trigger', name, { method: 'POST', headers, repeatable: true }, options, '/trigger')
  }

  /** Creates the tasks of past instants. A repeat creates no task twice. */
  backfill(name: string, range: BackfillInput, options: ConditionOptions = {}): Promise<BackfillReply> {
    return this.one('backfill', name, { method: 'POST', json: range, headers: conditions(options), extra: 5 * 60_000, repeatable: true }, options, '/backfill')
  }

  /** Returns the next instants of a schedule. */
  preview(name: string, query: PreviewScheduleQuery = {}, options: CallOptions = {}): Promise<Preview> {
    return this.one('preview', name, { method: 'GET', query, repeatable: true }, options, '/preview')
  }

  /** Returns the instants of a rule that is not stored. */
  previewRule(rule: ScheduleRule, query: PreviewRuleQuery = {}, options: CallOptions = {}): Promise<RulePreview> {
    return this.connection.call({ op: 'preview a rule', method: 'POST', path: '/v1/schedules/preview', json: rule, query, repeatable: true }, options)
  }

  private one<T>(verb: string, name: string, c: Omit<Call, 'op' | 'path'>, options: CallOptions, action = ''): Promise<T> {
    return this.connection.call({ ...c, op: `${verb} schedule ${name}`, path: below('/v1/schedules/', name) + action }, options)
  }
}
