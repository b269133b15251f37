package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// Filter selects tasks, which must match all fields that are set.
type Filter struct {
	Queue      string
	States     []State // any of them
	Reason     string  // why the tasks are dead, expired or cancelled
	Labels     map[string]string
	Schedule   string    // name of the schedule that created them
	Prefix     string    // beginning of their names
	DueBefore  time.Time // exclusive: DueAt, which retries do not move, is before this. Zero means no bound
	DueAfter   time.Time // exclusive: DueAt is after this. Zero means no bound
	EndedAfter time.Time // exclusive: FinishedAt is after this. Zero means no bound
	// EndedBefore is an exclusive bound too: FinishedAt is before this.
	EndedBefore time.Time
	Destination string // host:port, or kind/ and the name of a kind
	Contains    string // words that their names contain, such as "order 42", in upper or lower case
	// All must be set to call CancelMatching, RetryMatching or MoveMatching
	// without any of these fields. Tasks.List and Tasks.Page ignore it.
	All bool
	// DryRun makes these methods change nothing: the result has the number of
	// tasks that match, and some of them. Tasks.List and Tasks.Page ignore it.
	DryRun bool
}

// Query selects the tasks to list.
type Query struct {
	Filter

	Bodies      bool // include the bodies of the tasks
	PageSize    int  // tasks of one request, at most 1000. Default: 1000, or 100 with bodies
	LatestEnded bool // list only tasks that have ended, the latest end first
}

// Page is one page of a list.
type Page struct {
	Tasks []*Task
	Next  string // cursor of the next page; empty: this is the last. A page without tasks can have a next page
}

// Page returns the page at a cursor: the Next of another page, or "" for the
// first page. The tasks are in no particular order, unless q has one.
func (ts Tasks) Page(ctx context.Context, q Query, cursor string) (*Page, error) {
	values := q.params()
	values.Add("cursor", cursor)
	p := conn.Page[Task]{Field: "tasks"}
	c := &conn.Call{Op: "list tasks", Method: http.MethodGet, Path: "/tasks", Query: values, Repeatable: true, Into: &p}
	if _, err := ts.conn.Do(ctx, c); err != nil {
		return nil, err
	}
	return &Page{Tasks: p.Items, Next: p.Next}, nil
}

// List returns the tasks that q selects, in the order of Page, and reads the
// next page when the current one is used up. An error is the last item. A task
// that is created or changed during the list may be missing, or be returned as
// it was before.
func (ts Tasks) List(ctx context.Context, q Query) iter.Seq2[*Task, error] {
	return conn.Pages[Task](ctx, ts.conn, "list tasks", "/tasks", "tasks", q.params())
}

// params returns the query, without a cursor.
func (q Query) params() conn.Params {
	values := q.values()
	size := q.PageSize
	if size <= 0 && q.Bodies {
		size = 100
	}
	values.Add("limit", cmp.Or(max(size, 0), 1000))
	if q.Bodies {
		values.Add("include", "body")
	}
	if q.LatestEnded {
		values.Add("order", "ended")
	}
	return values
}

// BulkResult counts the tasks that a change by filter changed.
type BulkResult struct {
	Changed    int     `json:"changed"`              // tasks that were changed
	Accepted   int     `json:"accepted,omitempty"`   // cancel only: an attempt is under way and is the last
	Skipped    int     `json:"skipped,omitempty"`    // their state does not allow the change, or another client changed them after they were listed
	Durability string  `json:"durability,omitempty"` // as in Task
	Matched    *int    `json:"matched,omitempty"`    // tasks that match; nil unless Filter.DryRun is set
	Examples   []*Task `json:"examples,omitempty"`   // at most 20 of these, without bodies
}

// CancelMatching cancels the tasks that match, or all that are not finished if
// there are no States. It may take long, and works in pages, so a call that
// ends early has changed some of the tasks, and can be repeated. Tasks that begin
// to match after the count of Expect are left alone. Errors: ErrCount. Options:
// Expect.
func (ts Tasks) CancelMatching(ctx context.Context, f Filter, opts ...CallOption) (BulkResult, error) {
	return ts.matching(ctx, "cancel", f, nil, opts)
}

// RetryMatching retries the tasks that match, or the dead ones if there are no
// States. It skips finished tasks whose queue did not keep the bodies, and
// otherwise behaves as CancelMatching. Options: Expect.
func (ts Tasks) RetryMatching(ctx context.Context, f Filter, opts ...CallOption) (BulkResult, error) {
	return ts.matching(ctx, "retry", f, nil, opts)
}

// When is the due time that MoveMatching gives to tasks. At most one of At,
// Local, Delay and By is set. If none is, the tasks are due now.
type When struct {
	At       time.Time // of all tasks
	Local    string    // of all tasks, in TimeZone: see Spec.Local
	TimeZone string
	Delay    time.Duration // counted from when the server moves the tasks
	By       time.Duration // added to the due time of each task; negative means earlier
}

// MoveMatching changes the due times of the tasks that match, or the scheduled
// ones if there are no States. It skips running and finished tasks. If a call with
// By ends early, a repeat moves the tasks again that still match, so set
// DueBefore or DueAfter. Otherwise it behaves as CancelMatching. Options: Expect.
func (ts Tasks) MoveMatching(ctx context.Context, f Filter, to When, opts ...CallOption) (BulkResult, error) {
	in := wire.MoveInput{At: cmp.Or(convert.Instant(to.At), to.Local), TimeZone: to.TimeZone, By: convert.Duration(to.By)}
	if in.At == "" && in.By == "" {
		in.Delay = to.Delay.String()
	}
	return ts.matching(ctx, "move", f, in, opts)
}

// matchingTimeout is the time allowed to change very many tasks.
const matchingTimeout = 30 * time.Minute

func (ts Tasks) matching(ctx context.Context, verb string, f Filter, send any, opts []CallOption) (BulkResult, error) {
	values := f.values()
	values.Add("all", f.All)
	values.Add("dry_run", f.DryRun)
	var reply BulkResult
	c := &conn.Call{
		Op: verb + " tasks", Method: http.MethodPost, Path: "/tasks/" + verb, Query: values, Send: send, Extra: matchingTimeout, Into: &reply,
		Takes: "Expect", Options: given(opts),
	}
	if _, err := ts.conn.Do(ctx, c); err != nil {
		return BulkResult{}, err
	}
	return reply, nil
}

// values returns the filter as query parameters.
func (f Filter) values() conn.Params {
	v := conn.Params{}
	v.Add("queue", f.Queue)
	v.Add("reason", f.Reason)
	v.Add("schedule", f.Schedule)
	v.Add("prefix", f.Prefix)
	for _, s := range f.States {
		v.Add("state", string(s))
	}
	v.Add("label", f.Labels)
	v.Add("due_before", f.DueBefore)
	v.Add("due_after", f.DueAfter)
	v.Add("ended_after", f.EndedAfter)
	v.Add("ended_before", f.EndedBefore)
	v.Add("destination", f.Destination)
	v.Add("contains", f.Contains)
	return v
}
