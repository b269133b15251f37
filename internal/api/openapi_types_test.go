package api

import (
	"encoding/json"

	"github.com/foliot/foliot/internal/wire"
)

// The types below describe bodies for OpenAPI and for tests. The server writes a list
// item by item, and reads a patch field by field, so it needs none of them.

type TaskList struct {
	Tasks      []wire.Task `json:"tasks" nullable:"false"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"Absent on the last page. A page may be short or empty and still have a next_cursor."`
}

// ScheduleList is one page of schedules, in the order of their names.
type ScheduleList struct {
	Schedules  []wire.Schedule `json:"schedules" nullable:"false"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"Absent on the last page. A page may be short or empty and still have a next_cursor."`
}

// QueueList is one page of queues, in the order of their names.
type QueueList struct {
	Queues     []wire.Queue `json:"queues" nullable:"false"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// TokenList is one page of tokens, in the order of their ids.
type TokenList struct {
	Tokens     []wire.Token `json:"tokens" nullable:"false"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// SecretList holds the active secrets of a namespace: its own, then those of
// its queues in the order of their names, the newest first.
type SecretList struct {
	Secrets []wire.Secret `json:"secrets" nullable:"false"`
}

// NamespaceList is one page of namespaces, in the order of their names.
type NamespaceList struct {
	Namespaces []wire.Namespace `json:"namespaces" nullable:"false"`
	NextCursor string           `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// AuditList is one page of the audit log, the newest entry first.
type AuditList struct {
	Entries    []wire.AuditEntry `json:"entries" nullable:"false"`
	NextCursor string            `json:"next_cursor,omitempty" doc:"Absent on the last page. A page may be short or empty and still have a next_cursor."`
}

// ShardList is all shards of a shared store.
type ShardList struct {
	Shards []wire.Shard `json:"shards" nullable:"false"`
}

// TaskPatch is the body of a patch, in which absent fields do not change. In
// JSON, null resets a field to its queue's default, and removes a label, a
// header or the body; in Go, a nil value in a map removes.
type TaskPatch struct {
	At          string             `json:"at,omitempty" doc:"As in a create. A patch has at most one of at and delay."`
	TimeZone    string             `json:"timezone,omitempty" maxLength:"64" doc:"Of a local time in at, as in a create."`
	Delay       string             `json:"delay,omitempty" pattern:"duration" example:"30m" doc:"The task is due this long after the patch is accepted."`
	Queue       *string            `json:"queue,omitempty" nullable:"true" maxLength:"256"`
	HTTP        *HTTPPatch         `json:"http,omitempty" doc:"Only for a task with http."`
	Work        *workPatch         `json:"work,omitempty" doc:"Only for a task with work."`
	Timeout     *string            `json:"timeout,omitempty" pattern:"duration" nullable:"true"`
	ExpireAfter *string            `json:"expire_after,omitempty" pattern:"duration" nullable:"true"`
	Priority    *string            `json:"priority,omitempty" nullable:"true" doc:"high, normal or low."`
	Labels      map[string]*string `json:"labels,omitempty" doc:"Merged into the existing labels. null removes a label."`
	Retry       *retryPatch        `json:"retry,omitempty"`
	OnDead      *string            `json:"on_dead,omitempty" nullable:"true" maxLength:"8192" doc:"null: the queue's. Empty: none."`
}

// HTTPPatch changes the request to send.
type HTTPPatch struct {
	URL        *string            `json:"url,omitempty" format:"uri" maxLength:"8192"`
	Method     *string            `json:"method,omitempty" nullable:"true"`
	Headers    map[string]*string `json:"headers,omitempty" doc:"Merged into the existing headers; names ignore case. null removes a header."`
	Body       json.RawMessage    `json:"body,omitempty" doc:"Replaces the whole body. null removes it."`
	BodyBase64 *string            `json:"body_base64,omitempty" nullable:"true" encoding:"base64" doc:"Bytes to send in place of body, or together with body if a read shows both."`
}

// workPatch changes the call of a handler, but not its kind.
type workPatch struct {
	Args json.RawMessage `json:"args,omitempty" doc:"Replaces the arguments. null removes them."`
}

type retryPatch struct {
	MaxAttempts *int    `json:"max_attempts,omitempty" nullable:"true" minimum:"0" maximum:"100000"`
	MinBackoff  *string `json:"min_backoff,omitempty" pattern:"duration" nullable:"true"`
	MaxBackoff  *string `json:"max_backoff,omitempty" pattern:"duration" nullable:"true"`
	MaxAge      *string `json:"max_age,omitempty" pattern:"duration" nullable:"true"`
}
