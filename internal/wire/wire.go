// Package wire has the JSON types of the HTTP API, version 1. The server writes
// them, the client and the command line read them, and package task has the
// rules for their values. The doc tags become the descriptions in the OpenAPI
// document.
//
// Instants are RFC 3339 in UTC with milliseconds, and durations have the form of
// package timespan, for which the pattern "duration" stands in package api.
package wire

import (
	"encoding/json"
	"time"
)

const Version = "/v1"

// MS returns d in milliseconds. They have a fraction, because the usual lateness is below one.
func MS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// FormatTime writes t as the API does.
func FormatTime(t time.Time) string {
	t = t.UTC()
	var room [len("2006-01-02T15:04:05.000Z07:00")]byte
	b := t.AppendFormat(room[:0], time.RFC3339) // package time formats this layout several times faster than one with milliseconds
	ms := t.Nanosecond() / int(time.Millisecond)
	return string(append(b[:len(b)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}

// IsLeapSecond reports whether s is a leap second in the form of RFC 3339. Due
// times are Unix times, which have none.
func IsLeapSecond(s string) bool {
	const minutes, seconds = len("2006-01-02T15:04"), len("2006-01-02T15:04:05")
	return len(s) > seconds && s[minutes:seconds] == ":60"
}

// TaskInput is the task in a request: the body of a create and of a replace;
// absent fields have defaults.
type TaskInput struct {
	Name        string            `json:"name,omitempty" maxLength:"256" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" example:"order-42-close" doc:"Unique in the namespace. Absent: the task's id, or with an Idempotency-Key a name that derives from the key. The character @ is reserved."`
	Queue       string            `json:"queue,omitempty" maxLength:"256" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" doc:"The queue of the task. Tasks of a queue share its limits. Absent: default."`
	At          string            `json:"at,omitempty" example:"2030-01-02T15:04:05.250Z" doc:"The due time in RFC 3339, or a local time in timezone. It is rounded up to the millisecond. A task with a past time is sent at once, and expire_after still counts from that time. It must be after 1970-01-01T00:00:00Z and not a leap second. A task has exactly one of at and delay."`
	TimeZone    string            `json:"timezone,omitempty" maxLength:"64" example:"Europe/Berlin" doc:"Only in a request, and only with a local time in at: YYYY-MM-DD HH:MM, which :SS or :SS.mmm can follow, and a T can replace the space. If a clock change skips the time, the task is due at the end of the gap. If the time occurs twice, the first one counts. The zone is not stored."`
	Delay       string            `json:"delay,omitempty" pattern:"duration" example:"30m" doc:"The task is due this long after it is accepted, at most 100 years. A touch repeats the delay."`
	HTTP        HTTPInput         `json:"http,omitzero" doc:"The request to send. A task has exactly one of http and work."`
	Work        WorkInput         `json:"work,omitzero" doc:"The call of a handler, in place of http."`
	Timeout     string            `json:"timeout,omitempty" pattern:"duration" example:"15s" doc:"The time limit of one attempt, 1ms to 1h. Absent: the queue's, or 15s."`
	ExpireAfter string            `json:"expire_after,omitempty" pattern:"duration" example:"1h" doc:"Counts from the due time. If no attempt could start by then, the task expires. Absent: the queue's, or never. 0s: never."`
	Priority    string            `json:"priority,omitempty" enum:"high,normal,low" doc:"Absent: normal."`
	Labels      map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"Labels for filters. A key has at most 128 bytes, a value 256."`
	Retry       *Retry            `json:"retry,omitempty" doc:"The retry policy."`
	OnDead      *string           `json:"on_dead,omitempty" format:"uri" maxLength:"8192" example:"https://shop.internal/dead" doc:"A URL to notify when the task dies, by a POST in a task of its own. Absent: the queue's. Empty: none."`
	Traceparent string            `json:"traceparent,omitempty" maxLength:"512" example:"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" doc:"The span that created the task (W3C Trace Context). The spans of its attempts are linked to it. Absent in a create: the span of the request."`

	FirstAttemptAt string `json:"first_attempt_at,omitempty" format:"date-time" doc:"Only in a request with at: the first attempt starts no earlier, but expire_after counts from at. An export writes it for a task that waits for a retry. No reply has it."`
}

// HTTPInput is the request to send. It has both Body and BodyBase64 only if a
// read shows both.
type HTTPInput struct {
	URL        string            `json:"url" format:"uri" maxLength:"8192" example:"https://shop.internal/orders/42/close"`
	Method     string            `json:"method,omitempty" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" doc:"Absent: POST."`
	Headers    map[string]string `json:"headers,omitempty" doc:"At most 16 KiB together. Excluded: Host, TE, Content-Length, Connection, Transfer-Encoding, Expect, Upgrade, Trailer, Keep-Alive, Proxy-*, Foliot-* and webhook-*."`
	Body       json.RawMessage   `json:"body,omitempty" doc:"A string is sent as text (text/plain unless a header sets another type). Any other JSON value is sent as JSON, byte for byte. null: no body."`
	BodyBase64 *string           `json:"body_base64,omitempty" encoding:"base64" doc:"Bytes to send in place of body. A read shows both if no JSON value shows the bytes of a JSON body. A request with both sends these bytes as JSON. It is refused if body is another value."`
}

func (h HTTPInput) IsZero() bool {
	return h.URL == "" && h.Method == "" && len(h.Headers) == 0 && len(h.Body) == 0 && h.BodyBase64 == nil
}

// WorkInput is the call of a handler.
type WorkInput struct {
	Kind string          `json:"kind" maxLength:"128" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" example:"close-order" doc:"The kind of the task. Only a process with a handler for this kind runs the task."`
	Args json.RawMessage `json:"args,omitempty" doc:"The arguments: any JSON value. The handler gets them byte for byte. null: no arguments."`
}

func (w WorkInput) IsZero() bool { return w.Kind == "" && len(w.Args) == 0 }

// Retry is a retry policy, whose absent fields have the queue's defaults, or in
// the settings of a queue the server's.
type Retry struct {
	MaxAttempts *int   `json:"max_attempts,omitempty" minimum:"0" maximum:"100000" doc:"0: no limit except max_age. Absent: the queue's, or 0."`
	MinBackoff  string `json:"min_backoff,omitempty" pattern:"duration" example:"1s" doc:"The wait after the first failure. No wait is shorter. Absent: the queue's, or 1s."`
	MaxBackoff  string `json:"max_backoff,omitempty" pattern:"duration" example:"1h" doc:"The longest wait: each wait is twice the one before, up to this. Absent: the queue's, or 1h."`
	MaxAge      string `json:"max_age,omitempty" pattern:"duration" example:"24h" doc:"The time for all attempts, from the first one on, without the time in which Foliot was down or the queue paused. It is checked when an attempt fails. 0s: no limit. Absent: the queue's, or 24h."`
}

// Task is a task as the API shows it: the fields of the request, and its
// progress. A get, and a list with bodies, show the body; other replies show
// only BodySize.
type Task struct {
	TaskInput

	ID         string    `json:"id" doc:"Never used twice: a new task with the same name has another id. It is the webhook-id of every attempt."`
	State      string    `json:"state" enum:"scheduled,held,running,delivered,cancelled,expired,dead" doc:"held: scheduled, but its queue is paused or being purged, or its namespace is suspended."`
	WaitsFor   *WaitsFor `json:"waits_for,omitempty" doc:"The reason that a held task, or a scheduled task that is due, does not start."`
	Reason     string    `json:"reason,omitempty" doc:"The reason that the task is dead, expired or cancelled: a stable code."`
	DueAt      string    `json:"due_at" format:"date-time" doc:"The due time that was requested last. Retries do not move it."`
	NextAt     string    `json:"next_at,omitempty" format:"date-time" doc:"The start of the next attempt: due_at, or later for a retry. Absent: no attempt follows, or one is under way. A request must not have it."`
	Version    uint64    `json:"version" doc:"Counts changes by clients, not attempts."`
	CreatedAt  string    `json:"created_at" format:"date-time"`
	FinishedAt string    `json:"finished_at,omitempty" format:"date-time" doc:"The time when the task finished or died."`
	Authors
	CancelRequested bool      `json:"cancel_requested,omitempty" doc:"The task was cancelled during an attempt: no retry follows."`
	UnderWay        bool      `json:"under_way,omitempty" doc:"In the reply to a DELETE, PUT or PATCH: an attempt of the old version may be under way, or may still begin. Absent in the reply to a cancel (200): no attempt starts."`
	Already         bool      `json:"already,omitempty" doc:"In the reply to a cancel: the task was cancelled before, and this request changed nothing."`
	BodySize        int       `json:"body_size,omitempty" doc:"The size of the body in bytes. A finished task has no body, unless its queue keeps bodies."`
	Reclaims        int       `json:"reclaims,omitempty" doc:"The number of attempts that ended because their process died. After 10 the task is dead."`
	AttemptsStarted int       `json:"attempts_started,omitempty" doc:"The number of attempts that have started, including one under way. Absent: none has started."`
	Schedule        string    `json:"schedule,omitempty" doc:"The schedule that created the task."`
	Instant         string    `json:"instant,omitempty" format:"date-time" doc:"The instant of the schedule. Absent: a trigger created the task."`
	Attempts        []Attempt `json:"attempts" nullable:"false" doc:"The last 20, the oldest first. A finished task keeps only the reply of the last attempt."`
	Hidden          bool      `json:"hidden,omitempty" doc:"true: the namespace hides the body, the headers and the replies from this token."`
	Durability      string    `json:"durability,omitempty" doc:"In the reply to a change: the loss that it survives. synced: a power loss. async, default, strict: the level of a shared store that the change reached."`
}

// Authors has the creator of a task or a schedule, and the author of its last change.
type Authors struct {
	CreatedBy     string `json:"created_by,omitempty" example:"token:1f2e3d4c5b6a7988 shop" doc:"The token that created it: token:ID, and after a space the label of the token. Or sql:ROLE: a role of PostgreSQL that called an SQL function. Absent: a caller without a token, a schedule, or the death of a task (on_dead)."`
	ChangedAt     string `json:"changed_at,omitempty" format:"date-time" doc:"The time of the last change by a client. Absent: no client has changed it since it was created."`
	ChangedBy     string `json:"changed_by,omitempty" doc:"The token of that change, as in created_by. Absent: a caller without a token, or the server."`
	ChangedAction string `json:"changed_action,omitempty" example:"task.cancel" doc:"The kind of that change: an action of the audit log, or task.purge."`
}

// WaitsFor is the reason that a task does not start.
type WaitsFor struct {
	Reason string `json:"reason" enum:"suspended,purge,pause,runner,breaker,retry_after,per_destination,unsent,concurrency,rate,kind,quarantine,slots,node,turn" doc:"suspended: the namespace. runner: no handler, or the process sends no requests. unsent: a local error of the server. kind: the limit of its handler. node: another server owns the task; ask that server for the reason. turn: there is no obstacle, but other tasks are first."`
	Until  string `json:"until,omitempty" format:"date-time" doc:"When the reason ends by itself. Another one can follow. Absent: never, or unknown."`
	Detail string `json:"detail" doc:"A sentence for people. Its words may change."`
}

// Attempt is one HTTP request of a task.
type Attempt struct {
	Number    int     `json:"number"`
	StartedAt string  `json:"started_at" format:"date-time"`
	Status    int     `json:"status" doc:"The status of the reply; 0: no reply."`
	Error     string  `json:"error,omitempty"`
	Reply     string  `json:"reply,omitempty" doc:"The first 512 bytes of the reply."`
	LatencyMS float64 `json:"latency_ms" doc:"The time from the start to the end of the reply, or to the error."`
	LateMS    float64 `json:"late_ms" doc:"The lateness of the server: the time from the due time, or from the creation if that was later, to the start, without waited_ms."`
	WaitedMS  float64 `json:"waited_ms" doc:"How long receivers, limits, pauses and suspensions delayed the start, and the time to connect."`
}

// BatchReply has the results of a batch, in the order of its items.
type BatchReply struct {
	Results    []BatchResult `json:"results" nullable:"false"`
	Durability string        `json:"durability,omitempty"`
}

// BatchResult is the result of one item: the task that a single call would reply
// with, the name and id of a task in Tasks, or the members of a problem.
type BatchResult struct {
	Status int    `json:"status" doc:"The status that a single request would have: 201, 400, 409 …"`
	Task   *Task  `json:"task,omitempty" doc:"For a call that was made: the reply to a single request."`
	Name   string `json:"name,omitempty" doc:"For an item of tasks: the name of the created task. Otherwise as in a problem."`
	ID     string `json:"id,omitempty" doc:"For an item of tasks: the id of the created task. Otherwise as in a problem."`
	State  string `json:"state,omitempty" doc:"As in a problem."`
	DueAt  string `json:"due_at,omitempty" format:"date-time" doc:"For an item of tasks."`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty" doc:"As in a problem. The path is that of a single request: http.url, If-Match."`

	Kind       string   `json:"kind,omitempty" doc:"As in a problem."`
	Suggestion string   `json:"suggestion,omitempty" doc:"As in a problem."`
	Allowed    []string `json:"allowed,omitempty" doc:"As in a problem."`
	Limit      *float64 `json:"limit,omitempty" doc:"As in a problem."`
	RetryAfter int      `json:"retry_after,omitempty" doc:"The seconds after which the item can be repeated, as the header Retry-After of a single request."`
}

// BulkReply is the result of a change by filter.
type BulkReply struct {
	Changed    int    `json:"changed" doc:"The number of changed tasks."`
	Accepted   int    `json:"accepted,omitempty" doc:"For a cancel: the number of tasks with an attempt under way. No retry follows it."`
	Skipped    int    `json:"skipped,omitempty" doc:"The number of tasks that matched, but whose state does not allow the change, or changed before it."`
	Durability string `json:"durability,omitempty"`
	Matched    *int   `json:"matched,omitempty" doc:"Only with dry_run: the number of tasks that match."`
	Examples   []Task `json:"examples,omitempty" nullable:"false" doc:"Only with dry_run: the first 20 of them, without bodies."`
}

// MoveInput is the body of a move by filter, which has one of At, Delay and
// By.
type MoveInput struct {
	At       string `json:"at,omitempty" doc:"The new due time of all tasks, as in a create."`
	TimeZone string `json:"timezone,omitempty" maxLength:"64" doc:"Of a local time in at, as in a create."`
	Delay    string `json:"delay,omitempty" pattern:"duration" example:"30m" doc:"All tasks are due this long after the server moves them."`
	By       string `json:"by,omitempty" pattern:"duration" example:"2h" doc:"Added to the due time of each task; negative moves them to an earlier time."`
}

// Health is the reply of the health routes.
type Health struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version,omitempty"`
}

// Repository begins the address of each file of this repository.
const Repository = "https://github.com/foliot/foliot/blob/main/"

// ProblemDocs begins the type of every problem. The rest is its code, because
// the page has an anchor for each code.
//
// RFC 9457 recommends an absolute URL, which is the same for all servers, so
// that programs can compare it. Each server has the same text at
// /docs/problems.
const ProblemDocs = Repository + "internal/api/reference.md#"

// Problem is an error in the form of RFC 9457. Code is stable, but Detail is
// for people, so programs use the other fields.
type Problem struct {
	Type   string `json:"type" format:"uri" doc:"The documentation of the problem, the same for all servers. The part after # is the code. The server describes it at /docs/problems#CODE."`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail" doc:"A sentence for people. Its words may change."`
	Code   string `json:"code" doc:"Stable, for programs. A later version may have more codes."`
	Field  string `json:"field,omitempty" doc:"The path of the field, query parameter or header that is wrong: http.headers.host, limit, Idempotency-Key. For quota_exceeded and rate_exceeded: the quota or rate."`

	Suggestion string   `json:"suggestion,omitempty" doc:"For an unknown field, parameter or header: the known name that is spelled most like it. A field is relative to the object that has the unknown one."`
	Allowed    []string `json:"allowed,omitempty" doc:"All words that are allowed as the value of field."`
	Scope      string   `json:"scope,omitempty" doc:"For insufficient_scope: the scope that the route needs."`
	Kind       string   `json:"kind,omitempty" doc:"For not_found, unknown_namespace and busy: the kind of the record: task, schedule, queue, namespace, token, secret or node."`
	Name       string   `json:"name,omitempty" doc:"The name or id of that record."`
	Limit      *float64 `json:"limit,omitempty" doc:"For quota_exceeded and rate_exceeded: the value of the quota, or of the rate per second."`
	Until      string   `json:"until,omitempty" format:"date-time" doc:"For too_many_instants: the latest end that a backfill from the same time may have."`
	Count      *int     `json:"count,omitempty" doc:"For count_differs: the number of tasks that match."`
	ID         string   `json:"id,omitempty" doc:"The id of the task, if its state does not allow the request: exists, task_finished, task_running and others."`
	State      string   `json:"state,omitempty" doc:"The state of that task."`
}

const MaxExpect = 1_000_000

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"
