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

// Schedules manages the schedules of the client's namespace.
type Schedules struct{ conn *conn }

// Put creates the schedule of that name, or replaces its settings. An existing
// schedule keeps its id, its runs and a pause, and past instants do not fire
// again. Put returns the schedule without the body. Errors: ErrPrecondition,
// and an Error with the invalid field of the spec.
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

// ScheduleQuery selects the schedules to list.
type ScheduleQuery struct {
	Labels map[string]string // labels of their tasks; all must match
	Bodies bool              // include the bodies of their tasks
}

// List returns the schedules that q selects, by name. An error is the last
// item.
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

// Delete deletes a schedule and returns its last state. Its tasks stay. Errors:
// ErrNotFound, ErrPrecondition.
func (ss Schedules) Delete(ctx context.Context, name string, conds ...Condition) (*Schedule, error) {
	return ss.one(ctx, "delete schedule", name, &call{method: http.MethodDelete, header: headerOf(conds)})
}

// Pause stops a schedule from creating tasks until Resume. Existing tasks go
// on. Errors: ErrNotFound, ErrPrecondition.
func (ss Schedules) Pause(ctx context.Context, name string, conds ...Condition) (*Schedule, error) {
	return ss.one(ctx, "pause schedule", name, &call{method: http.MethodPost, path: "/pause", header: headerOf(conds), repeatable: len(conds) == 0})
}

// Resume continues a schedule with its next instant. Instants during the pause
// do not fire. Errors: ErrNotFound, ErrPrecondition.
func (ss Schedules) Resume(ctx context.Context, name string, conds ...Condition) (*Schedule, error) {
	return ss.one(ctx, "resume schedule", name, &call{method: http.MethodPost, path: "/resume", header: headerOf(conds), repeatable: len(conds) == 0})
}

// Trigger creates a task of a schedule that is due now, even if the schedule is
// paused or has an unfinished task. It returns the task without the body. The
// call carries an Idempotency-Key of its own, so it can be repeated if its
// reply is lost. Errors: ErrNotFound, ErrPrecondition, ErrQuota, ErrFull,
// ErrRateLimited.
func (ss Schedules) Trigger(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ss.TriggerOnce(ctx, rand.Text(), name, conds...)
}

// TriggerOnce is Trigger with a key chosen by the caller, as CreateOnce is
// Create: all calls with one key create one task. Later calls return it, even
// if the conditions no longer hold.
func (ss Schedules) TriggerOnce(ctx context.Context, key, name string, conds ...Condition) (*Task, error) {
	t, header := new(Task), headerOf(conds)
	header.Set("Idempotency-Key", key)
	_, err := ss.conn.named(ctx, "trigger schedule", "/schedules/", name, &call{method: http.MethodPost, path: "/trigger", header: header, repeatable: key != ""}, t)
	return orNil(t, err)
}

// Backfill creates a task for each instant from one time until another, both
// included, whether or not the instant fired. All tasks are due now. Repeating
// a backfill creates no task twice, and completes a backfill that an error
// ended early. Errors: ErrNotFound, ErrPrecondition, ErrQuota, ErrFull,
// ErrRateLimited, and an Error with code too_many_instants if there are more
// than 1000.
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

// backfillTimeout is the time allowed for a backfill of many large tasks.
const backfillTimeout = 5 * time.Minute

// Preview returns at most limit instants of a schedule's rule from one time on,
// regardless of runs and pauses. limit is at most 1000. A limit of 0 means 10.
// If from is the zero time, the list begins now and also ends with MaxRuns.
// Errors: ErrNotFound.
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

// one sends a call about one schedule. The call's path follows the schedule's.
func (ss Schedules) one(ctx context.Context, verb, name string, c *call) (*Schedule, error) {
	s := new(Schedule)
	_, err := ss.conn.named(ctx, verb, "/schedules/", name, c, s)
	return orNil(s, err)
}
