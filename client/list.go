package client

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

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
	// All must be set to call CancelMany, RetryMany or MoveMany without any of
	// these fields.
	All bool
	// DryRun makes these methods change nothing: the result has the number of
	// tasks that match, and some of them.
	DryRun bool
	// Expect makes these methods change nothing and return ErrCount unless
	// exactly this many tasks match. The Error's Count is then the number of
	// matching tasks. Tasks that begin to match after the count are left alone.
	// It is at most a million; nil means any number.
	Expect *int
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
	values.add("cursor", cursor)
	p := page[Task]{field: "tasks"}
	c := &call{op: "list tasks", method: http.MethodGet, path: "/tasks", query: values, repeatable: true, into: &p}
	if _, err := ts.conn.do(ctx, c); err != nil {
		return nil, err
	}
	return &Page{Tasks: p.items, Next: p.next}, nil
}

// List returns the tasks that q selects, in the order of Page, and reads the
// next page when the current one is used up. An error is the last item. A task
// that is created or changed during the list may be missing, or be returned as
// it was before.
func (ts Tasks) List(ctx context.Context, q Query) iter.Seq2[*Task, error] {
	return pages[Task](ctx, ts.conn, "list tasks", "/tasks", "tasks", q.params())
}

// params returns the query, without a cursor.
func (q Query) params() params {
	values := q.values()
	size := q.PageSize
	if size <= 0 && q.Bodies {
		size = 100
	}
	values.add("limit", cmp.Or(max(size, 0), 1000))
	if q.Bodies {
		values.add("include", "body")
	}
	if q.LatestEnded {
		values.add("order", "ended")
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

// CancelMany cancels the tasks that match, or all that are not finished if
// there are no States. It may take long, and works in pages, so a call that
// ends early has changed some of the tasks, and can be repeated. Errors:
// ErrCount, if f.Expect is set.
func (ts Tasks) CancelMany(ctx context.Context, f Filter) (BulkResult, error) {
	return ts.many(ctx, "cancel", f, nil)
}

// RetryMany retries the tasks that match, or the dead ones if there are no
// States. It skips finished tasks whose queue did not keep the bodies, and
// otherwise behaves as CancelMany.
func (ts Tasks) RetryMany(ctx context.Context, f Filter) (BulkResult, error) {
	return ts.many(ctx, "retry", f, nil)
}

// NewDue is the due time that MoveMany gives to tasks: exactly one field is
// set.
type NewDue struct {
	At    time.Time      // of all tasks
	Delay *time.Duration // counted from when the server moves the tasks
	By    time.Duration  // added to the due time of each task; negative means earlier
}

// MoveMany changes the due times of the tasks that match, or the scheduled ones
// if there are no States. It skips running and finished tasks. If a call with
// By ends early, a repeat moves the tasks again that still match, so set
// DueBefore or DueAfter. Otherwise it behaves as CancelMany.
func (ts Tasks) MoveMany(ctx context.Context, f Filter, to NewDue) (BulkResult, error) {
	in := wire.MoveInput{At: instant(to.At), By: duration(to.By)}
	if to.Delay != nil {
		in.Delay = to.Delay.String()
	}
	return ts.many(ctx, "move", f, in)
}

// manyTimeout is the time allowed to change very many tasks.
const manyTimeout = 30 * time.Minute

func (ts Tasks) many(ctx context.Context, verb string, f Filter, send any) (BulkResult, error) {
	values := f.values()
	values.add("all", f.All)
	if f.Expect != nil {
		values.add("expect", strconv.Itoa(*f.Expect))
	}
	values.add("dry_run", f.DryRun)
	var reply BulkResult
	c := &call{op: verb + " tasks", method: http.MethodPost, path: "/tasks/" + verb, query: values, send: send, extra: manyTimeout, into: &reply}
	if _, err := ts.conn.do(ctx, c); err != nil {
		return BulkResult{}, err
	}
	return reply, nil
}

// values returns the filter as query parameters.
func (f Filter) values() params {
	v := params{}
	v.add("queue", f.Queue)
	v.add("reason", f.Reason)
	v.add("schedule", f.Schedule)
	v.add("prefix", f.Prefix)
	for _, s := range f.States {
		v.add("state", string(s))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		v.add("label", key+"="+f.Labels[key])
	}
	v.add("due_before", f.DueBefore)
	v.add("due_after", f.DueAfter)
	v.add("ended_after", f.EndedAfter)
	return v
}
