// Package wire holds the JSON shapes of the HTTP API, version 1, as the server
// writes them and the command line reads them. It knows no rules: those are
// package task's. The doc tags become the descriptions of the OpenAPI document.
//
// Instants are RFC 3339 in UTC with milliseconds, durations as Go writes them: the
// pattern "duration" stands for what package api accepts.
package wire

import (
	"encoding/json"
	"time"
)

// Version is the first element of every path.
const Version = "/v1"

// TimeLayout is how instants are written.
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"

// FormatTime writes t as the API does.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }

// IsLeapSecond reports whether s is written as RFC 3339 writes a leap second. Unix time,
// in which tasks are due, has none.
func IsLeapSecond(s string) bool {
	const minutes, seconds = len("2006-01-02T15:04"), len("2006-01-02T15:04:05")
	return len(s) > seconds && s[minutes:seconds] == ":60"
}

// TaskInput is a task as a client asks for it: the body of a create and of a
// replace. Absent fields have defaults.
type TaskInput struct {
	Name        string            `json:"name,omitempty" maxLength:"256" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" example:"order-42-close" doc:"Unique in the namespace. None given: the task's id, or with an Idempotency-Key a name that derives from the key. The character @ is reserved."`
	Queue       string            `json:"queue,omitempty" maxLength:"256" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" default:"default" doc:"The set of tasks it shares limits with."`
	At          string            `json:"at,omitempty" format:"date-time" example:"2030-01-02T15:04:05.250Z" doc:"When it is due; rounded up to the millisecond, a past time is due now; after 1970-01-01T00:00:00Z, and no leap second. Exactly one of at and delay is given."`
	Delay       string            `json:"delay,omitempty" pattern:"duration" example:"30m" doc:"Due that long after it is accepted, as Go writes durations; at most 100 years. Touch repeats it."`
	HTTP        HTTPInput         `json:"http" doc:"The request to send."`
	Timeout     string            `json:"timeout,omitempty" pattern:"duration" example:"15s" doc:"Of one attempt, 1ms to 1h. Absent: the queue's, or 15s."`
	ExpireAfter string            `json:"expire_after,omitempty" pattern:"duration" example:"1h" doc:"Counts from the due time: if no attempt could start by then, none will. Absent: the queue's, or never; 0s: never."`
	Priority    string            `json:"priority,omitempty" enum:"high,normal,low" default:"normal"`
	Labels      map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"To find it by; keys to 128 bytes, values to 256."`
	Retry       *Retry            `json:"retry,omitempty" doc:"When it is tried again."`
	OnDead      *string           `json:"on_dead,omitempty" format:"uri" maxLength:"8192" example:"https://shop.internal/dead" doc:"A URL that is told, by a POST that is a task of its own, when the task dies. Absent: the queue's; an empty string: none."`
	Traceparent string            `json:"traceparent,omitempty" maxLength:"512" example:"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" doc:"The span that created it (W3C Trace Context), which the spans of its attempts are linked to. Absent in a create: that of the request."`

	FirstAttemptAt string `json:"first_attempt_at,omitempty" format:"date-time" doc:"In a request only, with at: the first attempt starts no earlier, and expire_after counts from at. An export writes it for a task that waits for a retry; no reply has it."`
}

// HTTPInput is the request to send. Body and BodyBase64 are given together only as a read shows them.
type HTTPInput struct {
	URL        string            `json:"url" format:"uri" maxLength:"8192" example:"https://shop.internal/orders/42/close"`
	Method     string            `json:"method,omitempty" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" default:"POST"`
	Headers    map[string]string `json:"headers,omitempty" doc:"At most 16 KiB together. Not Host, TE, Content-Length, Connection, Transfer-Encoding, Expect, Upgrade, Trailer, Keep-Alive, Proxy-*, Foliot-* or webhook-*."`
	Body       json.RawMessage   `json:"body,omitempty" doc:"A string is sent as it is (text/plain unless a header says otherwise), any other JSON value as JSON, byte for byte as it came. null: none."`
	BodyBase64 *string           `json:"body_base64,omitempty" encoding:"base64" doc:"Bytes to send, in place of body. A read shows both if no JSON value shows the bytes of a JSON body. A request may have both: these bytes are sent, as JSON. It is refused if body is another value."`
}

// Retry is a retry policy; absent fields have the queue's defaults, and in a
// queue's own the server's.
type Retry struct {
	MaxAttempts *int   `json:"max_attempts,omitempty" minimum:"0" maximum:"100000" doc:"0: no limit, max_age decides. Absent: the queue's, or 0."`
	MinBackoff  string `json:"min_backoff,omitempty" pattern:"duration" example:"1s" doc:"The wait after the first failure; no wait is shorter. Absent: the queue's, or 1s."`
	MaxBackoff  string `json:"max_backoff,omitempty" pattern:"duration" example:"1h" doc:"The waits double up to this. Absent: the queue's, or 1h."`
	MaxAge      string `json:"max_age,omitempty" pattern:"duration" example:"24h" doc:"Counts from the first attempt; 0s: no limit. Absent: the queue's, or 24h."`
}

// TaskPatch is the body of a patch: absent fields stay as they are. In the
// JSON, null gives a field its queue's default again and removes a label, a header or
// the body; in Go, a nil value of a map does.
type TaskPatch struct {
	At          string             `json:"at,omitempty" format:"date-time" doc:"At most one of at and delay is given."`
	Delay       string             `json:"delay,omitempty" pattern:"duration" example:"30m" doc:"Due that long after the patch is accepted."`
	Queue       *string            `json:"queue,omitempty" nullable:"true" maxLength:"256"`
	HTTP        *HTTPPatch         `json:"http,omitempty"`
	Timeout     *string            `json:"timeout,omitempty" pattern:"duration" nullable:"true"`
	ExpireAfter *string            `json:"expire_after,omitempty" pattern:"duration" nullable:"true"`
	Priority    *string            `json:"priority,omitempty" nullable:"true" doc:"high, normal or low."`
	Labels      map[string]*string `json:"labels,omitempty" doc:"Merged into the labels there are; null removes one."`
	Retry       *RetryPatch        `json:"retry,omitempty"`
	OnDead      *string            `json:"on_dead,omitempty" nullable:"true" maxLength:"8192" doc:"null: the queue's; an empty string: none."`
}

// HTTPPatch changes the request to send.
type HTTPPatch struct {
	URL        *string            `json:"url,omitempty" format:"uri" maxLength:"8192"`
	Method     *string            `json:"method,omitempty" nullable:"true"`
	Headers    map[string]*string `json:"headers,omitempty" doc:"Merged into the headers there are, names ignoring case; null removes one."`
	Body       json.RawMessage    `json:"body,omitempty" doc:"Replaced as a whole, never merged; null removes it."`
	BodyBase64 *string            `json:"body_base64,omitempty" nullable:"true" encoding:"base64" doc:"Bytes to send, in place of body, or together with it as a read shows both."`
}

// RetryPatch changes a retry policy.
type RetryPatch struct {
	MaxAttempts *int    `json:"max_attempts,omitempty" nullable:"true" minimum:"0" maximum:"100000"`
	MinBackoff  *string `json:"min_backoff,omitempty" pattern:"duration" nullable:"true"`
	MaxBackoff  *string `json:"max_backoff,omitempty" pattern:"duration" nullable:"true"`
	MaxAge      *string `json:"max_age,omitempty" pattern:"duration" nullable:"true"`
}

// Task is a task as the API shows it: what was asked for, and its life so far.
// Bodies are shown by a get, and by a list that includes them; everywhere else
// BodySize alone tells of them.
type Task struct {
	TaskInput

	ID              string    `json:"id" doc:"New for each incarnation of the name, and never given twice; the webhook-id of every attempt."`
	State           string    `json:"state" enum:"scheduled,held,running,delivered,cancelled,expired,dead" doc:"held: scheduled, in a queue that is paused or being purged, or in a suspended namespace."`
	HeldBy          string    `json:"held_by,omitempty" enum:"suspended,purge,pause" doc:"Of a held task: the reason. suspended: the operator has suspended the namespace."`
	Reason          string    `json:"reason,omitempty" doc:"Why it is dead, expired or cancelled: a stable code."`
	DueAt           string    `json:"due_at" format:"date-time" doc:"The due time that was asked for last; retries do not move it."`
	NextAt          string    `json:"next_at,omitempty" format:"date-time" doc:"When the next attempt starts: at due_at, or later when the task is tried again. Absent: none follows, or one is under way. A request does not take it."`
	Version         uint64    `json:"version" doc:"Counts what clients changed; attempts do not change it."`
	CreatedAt       string    `json:"created_at" format:"date-time"`
	FinishedAt      string    `json:"finished_at,omitempty" format:"date-time" doc:"When it became finished or dead."`
	CancelRequested bool      `json:"cancel_requested,omitempty" doc:"Cancelled while an attempt was under way: no retry follows."`
	UnderWay        bool      `json:"under_way,omitempty" doc:"In the reply to a DELETE, PUT or PATCH: an attempt of the task as it was may be under way, or may still begin. Absent in the reply to a cancel (200): none starts any more."`
	Already         bool      `json:"already,omitempty" doc:"In the reply to a cancel: the task was cancelled before, and this request changed nothing."`
	BodySize        int       `json:"body_size,omitempty" doc:"Bytes of its body; a finished task keeps none, unless its queue keeps bodies."`
	Reclaims        int       `json:"reclaims,omitempty" doc:"Attempts that were lost with the process that made them; 10 are the end."`
	Schedule        string    `json:"schedule,omitempty" doc:"The schedule that made it."`
	Instant         string    `json:"instant,omitempty" format:"date-time" doc:"The schedule's instant that it stands for. Absent: it was triggered."`
	Attempts        []Attempt `json:"attempts" nullable:"false" doc:"The last 20, oldest first. A finished task keeps the reply of the last one alone."`
	Durability      string    `json:"durability,omitempty" doc:"In the reply to a mutation: the loss that it survives. synced: a power loss. async, default, strict: the level of a shared store that the change reached."`
}

// Attempt is one HTTP request that was made for a task.
type Attempt struct {
	Number    int     `json:"number"`
	StartedAt string  `json:"started_at" format:"date-time"`
	Status    int     `json:"status" doc:"Of the reply; 0: none came."`
	Error     string  `json:"error,omitempty"`
	Reply     string  `json:"reply,omitempty" doc:"The reply's first 512 bytes."`
	LatencyMS float64 `json:"latency_ms" doc:"From the start to the reply's end, or to the error."`
	LateMS    int64   `json:"late_ms" doc:"From the due time to the start."`
}

// TaskList is one page of tasks.
type TaskList struct {
	Tasks      []Task `json:"tasks" nullable:"false"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Absent on the last page. A page may be short, or empty, and still have one."`
}

// BatchInput is the body of a batch create.
type BatchInput struct {
	Tasks []json.RawMessage `json:"tasks"`
}

// BatchReply answers a batch create, item by item, in order.
type BatchReply struct {
	Results    []BatchResult `json:"results" nullable:"false"`
	Durability string        `json:"durability,omitempty"`
}

// BatchResult is the outcome of one item: name and id if it was created, the
// members of a problem if it was not.
type BatchResult struct {
	Status int    `json:"status" doc:"As a create of its own would have been answered: 201, 400, 409 …"`
	Name   string `json:"name,omitempty"`
	ID     string `json:"id,omitempty" doc:"Of the task that was made, or of the one that exists."`
	State  string `json:"state,omitempty" doc:"Of exists: the state of the task that has the name."`
	DueAt  string `json:"due_at,omitempty" format:"date-time"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
}

// BulkReply answers a cancel or a retry by filter.
type BulkReply struct {
	Changed    int    `json:"changed" doc:"Took effect."`
	Accepted   int    `json:"accepted,omitempty" doc:"Cancel: an attempt is under way, no retry follows it."`
	Skipped    int    `json:"skipped,omitempty" doc:"Matched when listed, and changed before they could be taken."`
	Durability string `json:"durability,omitempty"`
}

// Health answers the health routes.
type Health struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version,omitempty"`
}

// Problem is an error, RFC 9457. Code is stable; Field is the path of the
// field that is wrong, where there is one.
type Problem struct {
	Type   string `json:"type" doc:"about:blank: code says which problem it is."`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail" doc:"A sentence for people."`
	Code   string `json:"code" doc:"Stable, for machines. A later version may have more of them."`
	Field  string `json:"field,omitempty" doc:"The path of the field, query parameter or header that is wrong: http.headers.host, limit, Idempotency-Key."`
	Count  *int   `json:"count,omitempty" doc:"Of count_differs: how many tasks match."`
	ID     string `json:"id,omitempty" doc:"Of the task, if its state does not allow the request: exists, task_finished, task_running and the like."`
	State  string `json:"state,omitempty" doc:"Of that task."`
}

// MaxExpect is the largest count that a change by filter can expect.
const MaxExpect = 1_000_000

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"
