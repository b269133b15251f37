// Package wire holds the JSON shapes of the HTTP API, version 1, as the server
// writes them and the command line reads them. It knows no rules: those are
// package task's.
//
// Instants are RFC 3339 in UTC with milliseconds, durations as Go writes them.
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

// TaskInput is a task as a client asks for it: the body of a create, a replace
// and of a patch, where absent fields stay as they are and null removes.
type TaskInput struct {
	Name        string            `json:"name,omitempty"`
	Queue       string            `json:"queue,omitempty"`
	At          string            `json:"at,omitempty"`
	Delay       string            `json:"delay,omitempty"`
	HTTP        HTTPInput         `json:"http"`
	Timeout     string            `json:"timeout,omitempty"`
	ExpireAfter string            `json:"expire_after,omitempty"`
	Priority    string            `json:"priority,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Retry       *Retry            `json:"retry,omitempty"`
}

// HTTPInput is the request to send. At most one of Body and BodyBase64 is given.
type HTTPInput struct {
	URL        string            `json:"url"`
	Method     string            `json:"method,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       json.RawMessage   `json:"body,omitempty"`
	BodyBase64 *string           `json:"body_base64,omitempty"`
}

// Retry is a retry policy; absent fields have the queue's defaults.
type Retry struct {
	MaxAttempts *int   `json:"max_attempts,omitempty"`
	MinBackoff  string `json:"min_backoff,omitempty"`
	MaxBackoff  string `json:"max_backoff,omitempty"`
	MaxAge      string `json:"max_age,omitempty"`
}

// Task is a task as the API shows it: what was asked for, and its life so far.
type Task struct {
	TaskInput

	ID              string    `json:"id"`
	State           string    `json:"state"`
	Reason          string    `json:"reason,omitempty"`
	DueAt           string    `json:"due_at"`
	Version         uint64    `json:"version"`
	CreatedAt       string    `json:"created_at"`
	FinishedAt      string    `json:"finished_at,omitempty"`
	CancelRequested bool      `json:"cancel_requested,omitempty"`
	Reclaims        int       `json:"reclaims,omitempty"`
	Attempts        []Attempt `json:"attempts"`
	Durability      string    `json:"durability,omitempty"` // of a mutation's reply
}

// Attempt is one HTTP request that was made for a task.
type Attempt struct {
	Number    int     `json:"number"`
	StartedAt string  `json:"started_at"`
	Status    int     `json:"status"` // 0: no reply came
	Error     string  `json:"error,omitempty"`
	Reply     string  `json:"reply,omitempty"`
	LatencyMS float64 `json:"latency_ms"`
	LateMS    int64   `json:"late_ms"`
}

// TaskList is one page of tasks.
type TaskList struct {
	Tasks      []Task `json:"tasks"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// BatchInput is the body of a batch create.
type BatchInput struct {
	Tasks []json.RawMessage `json:"tasks"`
}

// BatchReply answers a batch create, item by item, in order.
type BatchReply struct {
	Results    []BatchResult `json:"results"`
	Durability string        `json:"durability,omitempty"`
}

// BatchResult is what became of one item: name and id where it was created, a
// problem's code, detail and field where it was not.
type BatchResult struct {
	Status int    `json:"status"`
	Name   string `json:"name,omitempty"`
	ID     string `json:"id,omitempty"`
	DueAt  string `json:"due_at,omitempty"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
}

// BulkReply answers a cancel or a retry by filter.
type BulkReply struct {
	Changed    int    `json:"changed"`            // took effect
	Accepted   int    `json:"accepted,omitempty"` // cancel: an attempt is under way, none follows
	Skipped    int    `json:"skipped,omitempty"`  // matched, but their state did not allow it
	Durability string `json:"durability,omitempty"`
}

// Problem is an error, RFC 9457. Code is stable; Field is the path of the
// field that is wrong, where there is one.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Field  string `json:"field,omitempty"`
}

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"
