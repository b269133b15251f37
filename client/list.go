package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Filter chooses tasks: all that is given must match.
type Filter struct {
	Queue     string
	States    []State // any of them
	Reason    string  // why they are dead, expired or cancelled
	Labels    map[string]string
	Schedule  string    // which made them
	DueBefore time.Time // by DueAt, which retries do not move
	DueAfter  time.Time
	// All lets CancelMany and RetryMany go without any of these.
	All bool
	// Expect lets CancelMany and RetryMany change nothing unless exactly so many tasks match: they return ErrCount then, and the
	// Error's Count is how many do. Tasks that begin to match after the count are left alone. At most a million; nil: any number.
	Expect *int
}

// Query is what to list.
type Query struct {
	Filter

	Bodies   bool // with the tasks' bodies
	PageSize int  // tasks in one request, at most 1000. Default: 1000, or 100 with bodies
}

// Page is a part of a list.
type Page struct {
	Tasks []*Task
	Next  string // the cursor of the page after this one; empty: there is none. A page may have no tasks and still have one
}

// Page returns the part of a list that begins at a cursor: a page's Next, or "" for the first. The order is not specified.
func (ts Tasks) Page(ctx context.Context, q Query, cursor string) (*Page, error) {
	values := q.values()
	size := q.PageSize
	if size <= 0 {
		size = 1000
		if q.Bodies {
			size = 100
		}
	}
	values.Set("limit", strconv.Itoa(size))
	if q.Bodies {
		values.Set("include", "body")
	}
	if cursor != "" {
		values.Set("cursor", cursor)
	}
	var list struct {
		Tasks      []*Task `json:"tasks"`
		NextCursor string  `json:"next_cursor"`
	}
	c := &call{op: "list tasks", method: http.MethodGet, path: "/tasks", query: values, repeatable: true, into: &list}
	if _, err := ts.conn.do(ctx, c); err != nil {
		return nil, err
	}
	return &Page{Tasks: list.Tasks, Next: list.NextCursor}, nil
}

// List returns the tasks that q chooses, in no particular order; it reads a page when the one before is used up. An error is the last thing it
// yields. A task that is created or changed meanwhile may be missing, or shown as it was.
func (ts Tasks) List(ctx context.Context, q Query) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		for cursor := ""; ; {
			page, err := ts.Page(ctx, q, cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, t := range page.Tasks {
				if !yield(t, nil) {
					return
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}

// BulkResult counts what a change of many did.
type BulkResult struct {
	Changed    int    `json:"changed"`              // took effect
	Accepted   int    `json:"accepted,omitempty"`   // of a cancel: an attempt is under way, no retry follows it
	Skipped    int    `json:"skipped,omitempty"`    // matched when listed, and changed before they could be taken
	Durability string `json:"durability,omitempty"` // as a Task's
}

// CancelMany cancels the tasks that match: without States, all that are not finished. It goes through them in pages: a call that breaks off has changed
// a part, and can be repeated. It may take long. Errors: ErrCount, if f expects a count.
func (ts Tasks) CancelMany(ctx context.Context, f Filter) (BulkResult, error) {
	return ts.many(ctx, "cancel", f)
}

// RetryMany retries the tasks that match, as CancelMany cancels: without States, those that are dead. Finished ones whose queue did not keep
// their bodies are skipped.
func (ts Tasks) RetryMany(ctx context.Context, f Filter) (BulkResult, error) {
	return ts.many(ctx, "retry", f)
}

// manyTimeout is what a change of very many tasks may take.
const manyTimeout = 30 * time.Minute

func (ts Tasks) many(ctx context.Context, verb string, f Filter) (BulkResult, error) {
	values := f.values()
	if f.All {
		values.Set("all", "true")
	}
	if f.Expect != nil {
		values.Set("expect", strconv.Itoa(*f.Expect))
	}
	var reply BulkResult
	c := &call{op: verb + " tasks", method: http.MethodPost, path: "/tasks/" + verb, query: values, extra: manyTimeout, into: &reply}
	if _, err := ts.conn.do(ctx, c); err != nil {
		return BulkResult{}, err
	}
	return reply, nil
}

// values returns the filter as the API's parameters.
func (f Filter) values() url.Values {
	v := url.Values{}
	if f.Queue != "" {
		v.Set("queue", f.Queue)
	}
	if f.Reason != "" {
		v.Set("reason", f.Reason)
	}
	if f.Schedule != "" {
		v.Set("schedule", f.Schedule)
	}
	for _, s := range f.States {
		v.Add("state", string(s))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		v.Add("label", key+"="+f.Labels[key])
	}
	if !f.DueBefore.IsZero() {
		v.Set("due_before", instant(f.DueBefore))
	}
	if !f.DueAfter.IsZero() {
		v.Set("due_after", instant(f.DueAfter))
	}
	return v
}
