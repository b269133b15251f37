// Generated from the OpenAPI document by tools/bundle. DO NOT EDIT.

import { call } from './call'

export interface Absence {
  fired: number
  latest: Array<Instant>
  skipped: Array<SkippedInstants>
}

export interface Attempt {
  error?: string
  late_ms: number
  latency_ms: number
  number: number
  reply?: string
  started_at: string
  status: number
  waited_ms: number
}

export interface AttemptList {
  attempts: Array<EndedAttempt>
  node?: string
  since?: string
}

export interface AttemptTotals {
  dead: number
  delivered: number
  failed: number
  interrupted: number
  refused: number
  snoozed: number
}

export interface AuditEntry {
  action: string
  addr?: string
  at: string
  by: string
  detail?: string
  id?: string
  namespace?: string
  target?: string
  version?: number
}

export interface AuditList {
  entries: Array<AuditEntry>
  next_cursor?: string
}

export interface BackfillInput {
  from: string
  until: string
}

export interface BackfillReply {
  created: number
  durability?: string
  existing: number
  instants: number
}

export interface BatchCall {
  cancel?: string
  create?: TaskInput
  if_match?: string
  if_none_match?: "*"
  key?: string
  put?: TaskInput
  touch?: string
}

export interface BatchInput {
  calls?: Array<BatchCall>
  tasks?: Array<TaskInput>
}

export interface BatchReply {
  durability?: string
  results: Array<BatchResult>
}

export interface BatchResult {
  allowed?: Array<string> | null
  code?: "no_route" | "method_not_allowed" | "host_not_allowed" | "cross_origin" | "unsupported_media_type" | "unsupported_encoding" | "request_too_large" | "unreadable_body" | "unexpected_body" | "unknown_parameter" | "repeated_parameter" | "bad_parameter" | "bad_cursor" | "no_filter" | "bad_idempotency_key" | "bad_precondition" | "unknown_header" | "token_required" | "token_malformed" | "token_invalid" | "too_many_logins" | "insufficient_scope" | "operator_only" | "wrong_namespace" | "unknown_namespace" | "first_token" | "empty_body" | "bad_json" | "trailing_data" | "bad_utf8" | "too_deep" | "duplicate_key" | "unknown_field" | "wrong_type" | "null_value" | "required" | "two_due_times" | "no_due_time" | "two_bodies" | "name_mismatch" | "bad_name" | "bad_time" | "bad_duration" | "bad_traceparent" | "bad_priority" | "bad_base64" | "two_times" | "bad_secret" | "bad_scope" | "bad_label" | "bad_cron" | "bad_timezone" | "bad_policy" | "conflict" | "never_fires" | "bad_method" | "bad_url" | "bad_scheme" | "bad_header" | "forbidden_header" | "out_of_range" | "too_many" | "too_long" | "too_large" | "body_too_large" | "not_found" | "exists" | "precondition_failed" | "count_differs" | "too_many_instants" | "idempotency_key_reused" | "task_running" | "task_dead" | "task_not_dead" | "task_finished" | "no_delay" | "last_admin_token" | "last_node" | "busy" | "locked" | "quota_exceeded" | "rate_exceeded" | "namespace_suspended" | "kind_not_allowed" | "too_many_at_once" | "unsupported" | "capacity" | "store_unfit" | "durability_not_met" | "unavailable" | "store_replaced" | "settings_lost" | "internal"
  detail?: string
  due_at?: string
  field?: string
  id?: string
  kind?: string
  limit?: number
  name?: string
  retry_after?: number
  state?: string
  status: number
  suggestion?: string
  task?: Task
}

export interface BulkReply {
  accepted?: number
  changed: number
  durability?: string
  examples?: Array<Task>
  matched?: number
  skipped?: number
}

export interface ClockChange {
  at: string
  local: string
  repeats: boolean
  words: string
}

export interface Cluster {
  durability: string
  nodes: Array<Node>
  secured: boolean
  shards?: number
  store: "embedded" | "shared"
}

export interface Counts {
  bytes: number
  cancelled: number
  dead: number
  delivered: number
  expired: number
  running: number
  scheduled: number
}

export interface Due {
  exact_until?: string
  later: number
  near_until?: string
  overdue: number
  rings: Array<DueRing>
  scheduled: number
  time: string
  timers?: number
}

export interface DueQueue {
  counts: Array<number>
  namespace: string
  queue: string
}

export interface DueRing {
  counts: Array<number>
  from: string
  held?: Array<number> | null
  queues?: Array<DueQueue> | null
  slot: string
}

export interface Egress {
  addresses: Array<EgressAddress>
  host: string
  open: boolean
  port: number
  problem?: string
  scheme: string
  url: string
}

export interface EgressAddress {
  address: string
  open: boolean
  opener?: string
  reason: string
}

export interface EndedAttempt {
  at: string
  dead?: boolean
  destination: string
  error?: string
  late_ms: number
  latency_ms: number
  namespace: string
  number: number
  outcome: "delivered" | "failed" | "snoozed" | "refused" | "interrupted" | "lost_lease"
  queue: string
  reason?: string
  status: number
  task: string
  waited_ms: number
}

export interface Examination {
  findings: Array<Finding>
}

export interface Figures {
  at?: string
  attempts: number
  cancelled?: number
  created?: number
  dead?: number
  delivered?: number
  failed?: number
  interrupted?: number
  late: Array<number>
  lost_leases?: number
  namespace?: string
  over_100ms?: number
  over_10ms?: number
  over_1s?: number
  p50_ms?: number
  p99_ms?: number
  queue?: string
  refused?: number
  snoozed?: number
}

export interface Finding {
  check: string
  ok: boolean
  says: string
  warning?: boolean
}

export interface HTTPInput {
  body?: unknown
  body_base64?: string
  headers?: Record<string, string>
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS"
  url: string
}

export interface HTTPPatch {
  body?: unknown
  body_base64?: string | null
  headers?: Record<string, string | null>
  method?: string | null
  url?: string
}

export interface Health {
  status: "ok"
  version?: string
}

export interface History {
  from: string
  late_bounds_ms: Array<number>
  queues: Array<Figures>
  step: string
  steps: Array<Figures>
  until: string
}

export interface Identity {
  durability: string
  namespace: string
  node?: string
  now: string
  operator: boolean
  scope: "read" | "write" | "admin"
  secured: boolean
  store: "embedded" | "shared"
  token?: Token
  version: string
}

export interface Instant {
  at: string
  local: string
}

export interface Lateness {
  count: number
  max_ms: number
  p50_ms: number
  p90_ms: number
  p99_ms: number
}

export interface Live {
  at: string
  attempts?: AttemptTotals
  destinations: Array<LiveDestination>
  late?: Lateness
  now?: string
  queues: Array<LiveQueue>
  running?: number
  slots?: number
  suspended?: Array<string> | null
  waited?: Lateness
}

export interface LiveDestination {
  breaker: "closed" | "open" | "half-open"
  destination: string
  namespace: string
  oldest_ms?: number
  open_until?: string
  overdue: number
  running: number
}

export interface LiveQueue {
  limited_by?: "suspended" | "pause" | "purge" | "rate" | "concurrency" | "slots" | "breaker" | "retry_after" | "per_destination" | "unsent" | "kind" | "quarantine" | "turn" | "runner"
  namespace: string
  oldest_ms?: number
  overdue: number
  queue: string
  running: number
}

export interface MoveInput {
  at?: string
  by?: string
  delay?: string
  timezone?: string
}

export interface Namespace {
  change_rate?: number
  counts: Counts
  create_burst?: number
  create_rate?: number
  created_at?: string
  edit_rate?: number
  hide_payloads?: boolean
  kinds?: boolean
  managed_by?: string
  max_bytes?: number
  max_pending?: number
  name: string
  read_rate?: number
  schedules: number
  suspended?: boolean
  unconfirmed?: Array<string> | null
  version: number
}

export interface NamespaceInput {
  change_rate?: number
  create_burst?: number
  create_rate?: number
  edit_rate?: number
  hide_payloads?: boolean
  kinds?: boolean
  managed_by?: string
  max_bytes?: number
  max_pending?: number
  read_rate?: number
  suspended?: boolean
}

export interface NamespaceList {
  namespaces: Array<Namespace>
  next_cursor?: string
}

export interface Node {
  address?: string
  draining?: boolean
  last_seen_at?: string
  name?: string
  name_taken?: boolean
  owned?: number
  ready: boolean
  self?: boolean
  started_at: string
  uptime: string
  version: string
  wanted?: number
}

export interface PauseInput {
  for?: string
  until?: string
}

export interface Preview {
  instants: Array<Instant>
}

export interface Problem {
  allowed?: Array<string> | null
  code: "no_route" | "method_not_allowed" | "host_not_allowed" | "cross_origin" | "unsupported_media_type" | "unsupported_encoding" | "request_too_large" | "unreadable_body" | "unexpected_body" | "unknown_parameter" | "repeated_parameter" | "bad_parameter" | "bad_cursor" | "no_filter" | "bad_idempotency_key" | "bad_precondition" | "unknown_header" | "token_required" | "token_malformed" | "token_invalid" | "too_many_logins" | "insufficient_scope" | "operator_only" | "wrong_namespace" | "unknown_namespace" | "first_token" | "empty_body" | "bad_json" | "trailing_data" | "bad_utf8" | "too_deep" | "duplicate_key" | "unknown_field" | "wrong_type" | "null_value" | "required" | "two_due_times" | "no_due_time" | "two_bodies" | "name_mismatch" | "bad_name" | "bad_time" | "bad_duration" | "bad_traceparent" | "bad_priority" | "bad_base64" | "two_times" | "bad_secret" | "bad_scope" | "bad_label" | "bad_cron" | "bad_timezone" | "bad_policy" | "conflict" | "never_fires" | "bad_method" | "bad_url" | "bad_scheme" | "bad_header" | "forbidden_header" | "out_of_range" | "too_many" | "too_long" | "too_large" | "body_too_large" | "not_found" | "exists" | "precondition_failed" | "count_differs" | "too_many_instants" | "idempotency_key_reused" | "task_running" | "task_dead" | "task_not_dead" | "task_finished" | "no_delay" | "last_admin_token" | "last_node" | "busy" | "locked" | "quota_exceeded" | "rate_exceeded" | "namespace_suspended" | "kind_not_allowed" | "too_many_at_once" | "unsupported" | "capacity" | "store_unfit" | "durability_not_met" | "unavailable" | "store_replaced" | "settings_lost" | "internal"
  count?: number
  detail: string
  field?: string
  id?: string
  kind?: string
  limit?: number
  name?: string
  scope?: string
  state?: string
  status: number
  suggestion?: string
  title: string
  type: string
  until?: string
}

export interface Queue {
  burst?: number
  concurrency?: number
  counts: Counts
  created_at?: string
  expire_after?: string
  keep_bodies?: boolean
  keep_dead?: string
  keep_finished?: string
  managed_by?: string
  name: string
  on_dead?: string
  paused: boolean
  paused_until?: string
  per_destination?: number
  purging: boolean
  rate?: number
  retry?: Retry
  timeout?: string
  unconfirmed?: Array<string> | null
  version: number
}

export interface QueueInput {
  burst?: number
  concurrency?: number
  expire_after?: string
  keep_bodies?: boolean
  keep_dead?: string
  keep_finished?: string
  managed_by?: string
  on_dead?: string
  per_destination?: number
  rate?: number
  retry?: Retry
  timeout?: string
}

export interface QueueList {
  next_cursor?: string
  queues: Array<Queue>
}

export interface Retry {
  max_age?: string
  max_attempts?: number
  max_backoff?: string
  min_backoff?: string
}

export interface RetryPatch {
  max_age?: string | null
  max_attempts?: number | null
  max_backoff?: string | null
  min_backoff?: string | null
}

export interface RulePreview {
  absence?: Absence
  clock_changes: Array<ClockChange>
  days?: Array<number>
  instants: Array<Instant>
  words: string
}

export interface Schedule {
  anchor?: string
  body_size?: number
  catchup_limit: number
  catchup_window: string
  changed_action?: string
  changed_at?: string
  changed_by?: string
  created_at: string
  created_by?: string
  cron?: string
  dst_gap?: "next" | "skip"
  dst_overlap?: "first" | "both"
  durability?: string
  end?: string
  every?: string
  held?: "suspended" | "purge" | "pause"
  hidden?: boolean
  id: string
  jitter?: string
  last_at?: string
  last_skipped?: SkippedInstants
  managed_by?: string
  max_runs?: number
  missed: "fire_once" | "skip" | "fire_all"
  name: string
  next_at?: string
  overlap: "allow" | "skip" | "buffer_one"
  paused: boolean
  paused_at?: string
  problem?: string
  runs: number
  start?: string
  state: "active" | "paused" | "ended"
  task: ScheduledTask
  timezone?: string
  version: number
  waiting_at?: string
  words: string
}

export interface ScheduleInput {
  anchor?: string
  catchup_limit?: number
  catchup_window?: string
  cron?: string
  dst_gap?: "next" | "skip"
  dst_overlap?: "first" | "both"
  end?: string
  every?: string
  jitter?: string
  managed_by?: string
  max_runs?: number
  missed?: "fire_once" | "skip" | "fire_all"
  overlap?: "allow" | "skip" | "buffer_one"
  paused?: boolean
  runs?: number
  start?: string
  task: ScheduledTask
  timezone?: string
}

export interface ScheduleList {
  next_cursor?: string
  schedules: Array<Schedule>
}

export interface ScheduleRule {
  anchor?: string
  catchup_limit?: number
  catchup_window?: string
  cron?: string
  dst_gap?: "next" | "skip"
  dst_overlap?: "first" | "both"
  end?: string
  every?: string
  jitter?: string
  max_runs?: number
  missed?: "fire_once" | "skip" | "fire_all"
  overlap?: "allow" | "skip" | "buffer_one"
  start?: string
  timezone?: string
}

export interface ScheduledTask {
  expire_after?: string
  http?: HTTPInput
  labels?: Record<string, string>
  on_dead?: string
  priority?: "high" | "normal" | "low"
  queue?: string
  retry?: Retry
  timeout?: string
  work?: WorkInput
}

export interface Secret {
  beside_until?: string
  created_at: string
  expires_at?: string
  id: string
  queue?: string
  secret?: string
  unconfirmed?: Array<string> | null
}

export interface SecretInput {
  overlap?: string
  queue?: string
  secret?: string
}

export interface SecretList {
  secrets: Array<Secret>
}

export interface Shard {
  epoch: number
  next_due?: string
  owner?: string
  running: number
  shard: number
  until?: string
}

export interface ShardList {
  shards: Array<Shard>
}

export interface SkippedInstants {
  from: string
  until: string
  why: "missed" | "catchup_window" | "catchup_limit" | "quota" | "overlap"
}

export interface Task {
  already?: boolean
  at?: string
  attempts: Array<Attempt>
  attempts_started?: number
  body_size?: number
  cancel_requested?: boolean
  changed_action?: string
  changed_at?: string
  changed_by?: string
  created_at: string
  created_by?: string
  delay?: string
  due_at: string
  durability?: string
  expire_after?: string
  finished_at?: string
  first_attempt_at?: string
  hidden?: boolean
  http?: HTTPInput
  id: string
  instant?: string
  labels?: Record<string, string>
  name: string
  next_at?: string
  on_dead?: string
  priority: "high" | "normal" | "low"
  queue: string
  reason?: string
  reclaims?: number
  retry: Retry
  schedule?: string
  state: "scheduled" | "held" | "running" | "delivered" | "cancelled" | "expired" | "dead"
  timeout: string
  timezone?: string
  traceparent?: string
  under_way?: boolean
  version: number
  waits_for?: WaitsFor
  work?: WorkInput
}

export interface TaskInput {
  at?: string
  delay?: string
  expire_after?: string
  first_attempt_at?: string
  http?: HTTPInput
  labels?: Record<string, string>
  name?: string
  on_dead?: string
  priority?: "high" | "normal" | "low"
  queue?: string
  retry?: Retry
  timeout?: string
  timezone?: string
  traceparent?: string
  work?: WorkInput
}

export interface TaskList {
  next_cursor?: string
  tasks: Array<Task>
}

export interface TaskPatch {
  at?: string
  delay?: string
  expire_after?: string | null
  http?: HTTPPatch
  labels?: Record<string, string | null>
  on_dead?: string | null
  priority?: string | null
  queue?: string | null
  retry?: RetryPatch
  timeout?: string | null
  timezone?: string
  work?: WorkPatch
}

export interface Token {
  active_children?: number
  created_at: string
  expires_at?: string
  id: string
  label?: string
  last_used_at?: string
  namespace: string
  parent?: string
  revoked_at?: string
  scope: "read" | "write" | "admin"
  state: "active" | "expired" | "revoked"
  token?: string
  unconfirmed?: Array<string> | null
}

export interface TokenInput {
  expires_at?: string
  expires_in?: string
  label?: string
  namespace?: string
  scope: "read" | "write" | "admin"
}

export interface TokenList {
  next_cursor?: string
  tokens: Array<Token>
}

export interface Upcoming {
  hours?: Array<UpcomingCount> | null
  items: Array<UpcomingItem>
  more?: boolean
  time: string
  until: string
}

export interface UpcomingCount {
  count: number
  held?: "suspended" | "purge" | "pause"
  hour: string
  namespace?: string
  queue?: string
  schedule?: string
}

export interface UpcomingItem {
  attempt?: number
  due: string
  held?: "suspended" | "purge" | "pause"
  instant?: boolean
  kind?: string
  name: string
  namespace: string
  queue: string
  schedule?: string
  url?: string
}

export interface WaitsFor {
  detail: string
  reason: "suspended" | "purge" | "pause" | "runner" | "breaker" | "retry_after" | "per_destination" | "unsent" | "concurrency" | "rate" | "kind" | "quarantine" | "slots" | "node" | "turn"
  until?: string
}

export interface WorkInput {
  args?: unknown
  kind: string
}

export interface WorkPatch {
  args?: unknown
}

export const healthz = /* @__PURE__ */ call<{}, undefined, Health>('GET', 'healthz', '', false)
export const openapi = /* @__PURE__ */ call<{}, undefined, Record<string, unknown>>('GET', 'openapi.json', '', false)
export const readyz = /* @__PURE__ */ call<{}, undefined, Health>('GET', 'readyz', '', false)
export const listAttempts = /* @__PURE__ */ call<{ queue?: string; outcome?: Array<"delivered" | "failed" | "snoozed" | "refused" | "interrupted" | "lost_lease">; limit?: number }, undefined, AttemptList>('GET', 'v1/attempts', 'read', false)
export const listAudit = /* @__PURE__ */ call<{ action?: "task.patch" | "task.touch" | "task.run" | "task.retry" | "task.cancel" | "tasks.cancel" | "tasks.retry" | "tasks.move" | "schedule.put" | "schedule.pause" | "schedule.resume" | "schedule.delete" | "schedule.backfill" | "queue.put" | "queue.delete" | "queue.pause" | "queue.resume" | "queue.purge" | "queue.purged" | "namespace.put" | "namespace.delete" | "token.create" | "token.revoke" | "secret.create" | "secret.delete" | "node.drain" | "node.undrain" | "backup.take" | "token.refuse" | "scope.refuse"; target?: string; by?: string; from?: string; until?: string; limit?: number; cursor?: string }, undefined, AuditList>('GET', 'v1/audit', 'admin', false)
export const cluster = /* @__PURE__ */ call<{}, undefined, Cluster>('GET', 'v1/cluster', 'read', true)
export const undrainNode = /* @__PURE__ */ call<{ node: string }, undefined, Node>('DELETE', 'v1/cluster/nodes/{node}/drain', 'admin', true)
export const drainNode = /* @__PURE__ */ call<{ node: string; force?: boolean }, undefined, Node>('POST', 'v1/cluster/nodes/{node}/drain', 'admin', true)
export const listShards = /* @__PURE__ */ call<{}, undefined, ShardList>('GET', 'v1/cluster/shards', 'read', true)
export const examineStore = /* @__PURE__ */ call<{}, undefined, Examination>('GET', 'v1/cluster/store', 'read', true)
export const countDue = /* @__PURE__ */ call<{ rings?: number; until?: string; step?: string; queue?: string; by?: "queue" }, undefined, Due>('GET', 'v1/due', 'read', false)
export const explainEgress = /* @__PURE__ */ call<{ url?: string }, undefined, Egress>('GET', 'v1/egress', 'read', true)
export const history = /* @__PURE__ */ call<{ from?: string; until?: string; step?: string; queue?: string }, undefined, History>('GET', 'v1/history', 'read', false)
export const live = /* @__PURE__ */ call<{}, undefined, Live>('GET', 'v1/live', 'read', false)
export const listNamespaces = /* @__PURE__ */ call<{ limit?: number; cursor?: string }, undefined, NamespaceList>('GET', 'v1/namespaces', 'read', true)
export const deleteNamespace = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Namespace>('DELETE', 'v1/namespaces/{name}', 'admin', true, { ifMatch: 'If-Match' })
export const getNamespace = /* @__PURE__ */ call<{ name: string }, undefined, Namespace>('GET', 'v1/namespaces/{name}', 'read', true)
export const putNamespace = /* @__PURE__ */ call<{ name: string; ifMatch?: string; ifNoneMatch?: "*" }, NamespaceInput, Namespace>('PUT', 'v1/namespaces/{name}', 'admin', true, { ifMatch: 'If-Match', ifNoneMatch: 'If-None-Match' })
export const listQueues = /* @__PURE__ */ call<{ limit?: number; cursor?: string }, undefined, QueueList>('GET', 'v1/queues', 'read', false)
export const deleteQueue = /* @__PURE__ */ call<{ queue: string; ifMatch?: string }, undefined, Queue>('DELETE', 'v1/queues/{queue}', 'admin', false, { ifMatch: 'If-Match' })
export const getQueue = /* @__PURE__ */ call<{ queue: string }, undefined, Queue>('GET', 'v1/queues/{queue}', 'read', false)
export const putQueue = /* @__PURE__ */ call<{ queue: string; ifMatch?: string; ifNoneMatch?: "*" }, QueueInput, Queue>('PUT', 'v1/queues/{queue}', 'admin', false, { ifMatch: 'If-Match', ifNoneMatch: 'If-None-Match' })
export const pauseQueue = /* @__PURE__ */ call<{ queue: string; ifMatch?: string; ifNoneMatch?: "*" }, PauseInput, Queue>('POST', 'v1/queues/{queue}/pause', 'admin', false, { ifMatch: 'If-Match', ifNoneMatch: 'If-None-Match' })
export const purgeQueue = /* @__PURE__ */ call<{ queue: string; expect?: number; ifMatch?: string }, undefined, Queue>('POST', 'v1/queues/{queue}/purge', 'admin', false, { ifMatch: 'If-Match' })
export const resumeQueue = /* @__PURE__ */ call<{ queue: string; ifMatch?: string }, undefined, Queue>('POST', 'v1/queues/{queue}/resume', 'admin', false, { ifMatch: 'If-Match' })
export const listSchedules = /* @__PURE__ */ call<{ label?: Array<string>; limit?: number; cursor?: string; include?: "body" }, undefined, ScheduleList>('GET', 'v1/schedules', 'read', false)
export const previewRule = /* @__PURE__ */ call<{ limit?: number; from?: string; days?: number; absent_from?: string; absent_until?: string }, ScheduleRule, RulePreview>('POST', 'v1/schedules/preview', 'read', false)
export const deleteSchedule = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Schedule>('DELETE', 'v1/schedules/{name}', 'write', false, { ifMatch: 'If-Match' })
export const getSchedule = /* @__PURE__ */ call<{ name: string }, undefined, Schedule>('GET', 'v1/schedules/{name}', 'read', false)
export const putSchedule = /* @__PURE__ */ call<{ name: string; ifMatch?: string; ifNoneMatch?: "*" }, ScheduleInput, Schedule>('PUT', 'v1/schedules/{name}', 'write', false, { ifMatch: 'If-Match', ifNoneMatch: 'If-None-Match' })
export const backfillSchedule = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, BackfillInput, BackfillReply>('POST', 'v1/schedules/{name}/backfill', 'write', false, { ifMatch: 'If-Match' })
export const pauseSchedule = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Schedule>('POST', 'v1/schedules/{name}/pause', 'write', false, { ifMatch: 'If-Match' })
export const previewSchedule = /* @__PURE__ */ call<{ name: string; limit?: number; from?: string }, undefined, Preview>('GET', 'v1/schedules/{name}/preview', 'read', false)
export const resumeSchedule = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Schedule>('POST', 'v1/schedules/{name}/resume', 'write', false, { ifMatch: 'If-Match' })
export const triggerSchedule = /* @__PURE__ */ call<{ name: string; idempotencyKey?: string; ifMatch?: string }, undefined, Task>('POST', 'v1/schedules/{name}/trigger', 'write', false, { idempotencyKey: 'Idempotency-Key', ifMatch: 'If-Match' })
export const listSecrets = /* @__PURE__ */ call<{}, undefined, SecretList>('GET', 'v1/secrets', 'admin', false)
export const createSecret = /* @__PURE__ */ call<{}, SecretInput, Secret>('POST', 'v1/secrets', 'admin', false)
export const deleteSecret = /* @__PURE__ */ call<{ id: string }, undefined, Secret>('DELETE', 'v1/secrets/{id}', 'admin', false)
export const listTasks = /* @__PURE__ */ call<{ queue?: string; state?: Array<"scheduled" | "held" | "running" | "delivered" | "cancelled" | "expired" | "dead">; label?: Array<string>; reason?: "attempts_exhausted" | "max_age_exceeded" | "reclaims_exhausted" | "gone" | "no_retry" | "egress_denied" | "refused" | "expired" | "cancelled" | "purged"; schedule?: string; prefix?: string; due_before?: string; due_after?: string; ended_after?: string; ended_before?: string; destination?: string; contains?: string; order?: "ended"; limit?: number; cursor?: string; include?: "body" }, undefined, TaskList>('GET', 'v1/tasks', 'read', false)
export const createTask = /* @__PURE__ */ call<{ idempotencyKey?: string }, TaskInput, Task>('POST', 'v1/tasks', 'write', false, { idempotencyKey: 'Idempotency-Key' })
export const createTasks = /* @__PURE__ */ call<{}, BatchInput, BatchReply>('POST', 'v1/tasks/batch', 'write', false)
export const cancelTasks = /* @__PURE__ */ call<{ queue?: string; state?: Array<"scheduled" | "held" | "running" | "delivered" | "cancelled" | "expired" | "dead">; label?: Array<string>; reason?: "attempts_exhausted" | "max_age_exceeded" | "reclaims_exhausted" | "gone" | "no_retry" | "egress_denied" | "refused" | "expired" | "cancelled" | "purged"; schedule?: string; prefix?: string; due_before?: string; due_after?: string; ended_after?: string; ended_before?: string; destination?: string; contains?: string; all?: boolean; expect?: number; dry_run?: boolean }, undefined, BulkReply>('POST', 'v1/tasks/cancel', 'write', false)
export const moveTasks = /* @__PURE__ */ call<{ queue?: string; state?: Array<"scheduled" | "held" | "running" | "delivered" | "cancelled" | "expired" | "dead">; label?: Array<string>; reason?: "attempts_exhausted" | "max_age_exceeded" | "reclaims_exhausted" | "gone" | "no_retry" | "egress_denied" | "refused" | "expired" | "cancelled" | "purged"; schedule?: string; prefix?: string; due_before?: string; due_after?: string; ended_after?: string; ended_before?: string; destination?: string; contains?: string; all?: boolean; expect?: number; dry_run?: boolean }, MoveInput, BulkReply>('POST', 'v1/tasks/move', 'write', false)
export const retryTasks = /* @__PURE__ */ call<{ queue?: string; state?: Array<"scheduled" | "held" | "running" | "delivered" | "cancelled" | "expired" | "dead">; label?: Array<string>; reason?: "attempts_exhausted" | "max_age_exceeded" | "reclaims_exhausted" | "gone" | "no_retry" | "egress_denied" | "refused" | "expired" | "cancelled" | "purged"; schedule?: string; prefix?: string; due_before?: string; due_after?: string; ended_after?: string; ended_before?: string; destination?: string; contains?: string; all?: boolean; expect?: number; dry_run?: boolean }, undefined, BulkReply>('POST', 'v1/tasks/retry', 'write', false)
export const cancelTask = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Task>('DELETE', 'v1/tasks/{name}', 'write', false, { ifMatch: 'If-Match' })
export const getTask = /* @__PURE__ */ call<{ name: string; wait?: string }, undefined, Task>('GET', 'v1/tasks/{name}', 'read', false)
export const patchTask = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, TaskPatch, Task>('PATCH', 'v1/tasks/{name}', 'write', false, { ifMatch: 'If-Match' })
export const putTask = /* @__PURE__ */ call<{ name: string; ifMatch?: string; ifNoneMatch?: "*"; idempotencyKey?: string }, TaskInput, Task>('PUT', 'v1/tasks/{name}', 'write', false, { ifMatch: 'If-Match', ifNoneMatch: 'If-None-Match', idempotencyKey: 'Idempotency-Key' })
export const retryTask = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Task>('POST', 'v1/tasks/{name}/retry', 'write', false, { ifMatch: 'If-Match' })
export const runTask = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Task>('POST', 'v1/tasks/{name}/run', 'write', false, { ifMatch: 'If-Match' })
export const touchTask = /* @__PURE__ */ call<{ name: string; ifMatch?: string }, undefined, Task>('POST', 'v1/tasks/{name}/touch', 'write', false, { ifMatch: 'If-Match' })
export const listTokens = /* @__PURE__ */ call<{ limit?: number; cursor?: string }, undefined, TokenList>('GET', 'v1/tokens', 'admin', false)
export const createToken = /* @__PURE__ */ call<{}, TokenInput, Token>('POST', 'v1/tokens', 'admin', false)
export const revokeToken = /* @__PURE__ */ call<{ id: string; children?: boolean; force?: boolean }, undefined, Token>('DELETE', 'v1/tokens/{id}', 'admin', false)
export const listUpcoming = /* @__PURE__ */ call<{ from?: string; until?: string; queue?: string; by?: "hour"; limit?: number }, undefined, Upcoming>('GET', 'v1/upcoming', 'read', false)
export const whoami = /* @__PURE__ */ call<{}, undefined, Identity>('GET', 'v1/whoami', 'read', false)
