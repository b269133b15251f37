package client

import (
	"context"
	"crypto/rand"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Schedules are what makes tasks again and again, in the client's namespace.
type Schedules struct{ conn *conn }

// Put makes the schedule of that name, or changes all of it: its id, its runs and a pause stay, and what has fired does not fire again. It
// returns without the body. Errors: ErrPrecondition, and an Error with the field of the spec that is wrong.
func (ss Schedules) Put(ctx context.Context, name string, s ScheduleSpec, conds ...Condition) (*Schedule, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, refused("put schedule "+name, "bad_body", "task", err.Error())
	}
	return ss.one(ctx, "put schedule", name, &call{method: http.MethodPut, body: body, header: headerOf(conds), repeatable: len(conds) == 0})
}

// Get returns a schedule, with the body of its tasks. Errors: ErrNotFound.
func (ss Schedules) Get(ctx context.Context, name string) (*Schedule, error) {
	return ss.one(ctx, "get schedule", name, &call{method: http.MethodGet, repeatable: true})
}

// ScheduleQuery is which schedules to list.
type ScheduleQuery struct {
	Labels map[string]string // those of their tasks; all of them must match
	Bodies bool              // with the bodies of their tasks
}

// List returns the schedules that q chooses, in the order of their names. An error is the last thing it yields.
func (ss Schedules) List(ctx context.Context, q ScheduleQuery) iter.Seq2[*Schedule, error] {
	values := url.Values{}
	for _, key := range slices.Sorted(maps.Keys(q.Labels)) {
		values.Add("label", key+"="+q.Labels[key])
	}
	if q.Bodies {
		values.Set("include", "body")
	}
	return pages[Schedule, schedulePage](ctx, ss.conn, "list schedules", "/schedules", values)
}

type schedulePage struct {
	Schedules []*Schedule `json:"schedules"`
	cursorField
}

func (p *schedulePage) items() []*Schedule { return p.Schedules }

// Delete ends a schedule, and returns what it was. The tasks that it made stay. Errors: ErrNotFound, ErrPrecondition.
func (ss Schedules) Delete(ctx context.Context, name string, conds ...Condition) (*Schedule, error) {
	return ss.one(ctx, "delete schedule", name, &call{method: http.MethodDelete, header: headerOf(conds)})
}

// Pause lets a schedule make no tasks until it is resumed. Those that it made go on. Errors: ErrNotFound, ErrPrecondition.
func (ss Schedules) Pause(ctx context.Context, name string, conds ...Condition) (*Schedule, error) {
	return ss.one(ctx, "pause schedule", name, &call{method: http.MethodPost, path: "/pause", header: headerOf(conds), repeatable: len(conds) == 0})
}

// Resume lets a schedule go on with its next instant: those during the pause are not made up for. Errors: ErrNotFound, ErrPrecondition.
func (ss Schedules) Resume(ctx context.Context, name string, conds ...Condition) (*Schedule, error) {
	return ss.one(ctx, "resume schedule", name, &call{method: http.MethodPost, path: "/resume", header: headerOf(conds), repeatable: len(conds) == 0})
}

// Trigger makes a task of a schedule that is due now, also while it is paused or another is unfinished. It returns without the body. The call
// carries an Idempotency-Key of its own, so that it can be repeated when its answer is lost. Errors: ErrNotFound, ErrPrecondition, ErrQuota, ErrFull, ErrRateLimited.
func (ss Schedules) Trigger(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ss.TriggerOnce(ctx, rand.Text(), name, conds...)
}

// TriggerOnce is Trigger with a key of the caller's, as CreateOnce is Create: however often it is called, one task is made. Once it is, it is
// returned, whether the conditions hold still or not.
func (ss Schedules) TriggerOnce(ctx context.Context, key, name string, conds ...Condition) (*Task, error) {
	t, header := new(Task), headerOf(conds)
	header.Set("Idempotency-Key", key)
	_, err := ss.conn.named(ctx, "trigger schedule", "/schedules/", name, &call{method: http.MethodPost, path: "/trigger", header: header, repeatable: key != ""}, t)
	return orNil(t, err)
}

// Backfill makes a task for each instant from one time until another, both included, whether or not they fired: all are due now. The same
// backfill again makes nothing twice, and what is left where an error broke it off. Errors: ErrNotFound, ErrPrecondition, ErrQuota, ErrFull, ErrRateLimited, an
// Error of code too_many_instants where there are more than 1000.
func (ss Schedules) Backfill(ctx context.Context, name string, from, until time.Time, conds ...Condition) (BackfillResult, error) {
	body, err := marshal(wire.BackfillInput{From: instant(from), Until: instant(until)})
	if err != nil {
		return BackfillResult{}, err
	}
	var reply BackfillResult
	_, err = ss.conn.named(ctx, "backfill schedule", "/schedules/", name, &call{
		method: http.MethodPost, path: "/backfill", header: headerOf(conds), body: body, extra: backfillTimeout, repeatable: true,
	}, &reply)
	if err != nil {
		return BackfillResult{}, err
	}
	return reply, nil
}

// backfillTimeout is what a backfill of many large tasks may take.
const backfillTimeout = 5 * time.Minute

// Preview returns what a schedule's rule says: its instants from one time on, at most so many (1000), whatever was fired or paused. A zero from
// is now, and then MaxRuns ends the list; a limit of 0 is 10. Errors: ErrNotFound.
func (ss Schedules) Preview(ctx context.Context, name string, from time.Time, limit int) ([]Instant, error) {
	values := url.Values{}
	if limit != 0 {
		values.Set("limit", strconv.Itoa(limit))
	}
	if !from.IsZero() {
		values.Set("from", instant(from))
	}
	var list struct {
		Instants []Instant `json:"instants"`
	}
	_, err := ss.conn.named(ctx, "preview schedule", "/schedules/", name, &call{method: http.MethodGet, path: "/preview", query: values, repeatable: true}, &list)
	return list.Instants, err
}

// one sends a call that is about one schedule; its path is what comes after the schedule's.
func (ss Schedules) one(ctx context.Context, verb, name string, c *call) (*Schedule, error) {
	s := new(Schedule)
	_, err := ss.conn.named(ctx, verb, "/schedules/", name, c, s)
	return orNil(s, err)
}
