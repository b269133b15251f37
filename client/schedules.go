package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// Schedules manages the schedules of the client's namespace.
type Schedules struct{ conn *connection }

// Put creates the schedule of that name, or replaces its settings. An existing
// schedule keeps its id, its runs and a pause, and past instants do not fire
// again. Put returns the schedule without the body. Errors: ErrPrecondition,
// and an Error with the invalid field of the spec. Options: IfMatch, IfNoneMatch.
func (ss Schedules) Put(ctx context.Context, name string, s ScheduleSpec, opts ...CallOption) (*Schedule, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, refused("put schedule "+name, "bad_body", "task", err.Error())
	}
	return ss.one(ctx, "put schedule", name, &conn.Call{Method: http.MethodPut, Body: body, Takes: "IfMatch IfNoneMatch", Options: given(opts), Repeatable: !conn.Conditional(given(opts))})
}

// Get returns a schedule, with the body of its tasks. Errors: ErrNotFound.
func (ss Schedules) Get(ctx context.Context, name string) (*Schedule, error) {
	return ss.one(ctx, "get schedule", name, &conn.Call{Method: http.MethodGet, Repeatable: true})
}

// ScheduleQuery selects the schedules to list.
type ScheduleQuery struct {
	Labels map[string]string // labels of their tasks; all must match
	Bodies bool              // include the bodies of their tasks
}

// List returns the schedules that q selects, by name. An error is the last
// item.
func (ss Schedules) List(ctx context.Context, q ScheduleQuery) iter.Seq2[*Schedule, error] {
	values := conn.Params{}
	values.Add("label", q.Labels)
	if q.Bodies {
		values.Add("include", "body")
	}
	return conn.Pages[Schedule](ctx, ss.conn, "list schedules", "/schedules", "schedules", values)
}

// Delete deletes a schedule, whose tasks stay, and returns its last state.
// Errors: ErrNotFound, ErrPrecondition. Options: IfMatch.
func (ss Schedules) Delete(ctx context.Context, name string, opts ...CallOption) (*Schedule, error) {
	return ss.one(ctx, "delete schedule", name, &conn.Call{Method: http.MethodDelete, Takes: "IfMatch", Options: given(opts)})
}

// Pause stops a schedule from creating tasks until Resume, while existing tasks
// go on. Errors: ErrNotFound, ErrPrecondition. Options: IfMatch.
func (ss Schedules) Pause(ctx context.Context, name string, opts ...CallOption) (*Schedule, error) {
	return ss.one(ctx, "pause schedule", name, &conn.Call{Method: http.MethodPost, Path: "/pause", Takes: "IfMatch", Options: given(opts), Repeatable: !conn.Conditional(given(opts))})
}

// Resume continues a schedule with its next instant, so instants during the
// pause do not fire. Errors: ErrNotFound, ErrPrecondition. Options: IfMatch.
func (ss Schedules) Resume(ctx context.Context, name string, opts ...CallOption) (*Schedule, error) {
	return ss.one(ctx, "resume schedule", name, &conn.Call{Method: http.MethodPost, Path: "/resume", Takes: "IfMatch", Options: given(opts), Repeatable: !conn.Conditional(given(opts))})
}

// Trigger creates a task of a schedule that is due now, even if the schedule is
// paused or has an unfinished task. It returns the task without the body. The
// call carries an Idempotency-Key of its own, so it can be repeated if its
// reply is lost. Errors: ErrNotFound, ErrPrecondition, ErrQuota, ErrFull,
// ErrRateLimited. Options: Key, IfMatch.
func (ss Schedules) Trigger(ctx context.Context, name string, opts ...CallOption) (*Task, error) {
	t, _, err := conn.Named[Task](ctx, ss.conn, "trigger schedule", "/schedules/", name, &conn.Call{
		Method: http.MethodPost, Path: "/trigger", Takes: "Key IfMatch", Options: keyed(opts), Repeatable: true,
	})
	return t, err
}

// Backfill creates a task for each instant from one time until another, both
// included, whether or not the instant fired. All tasks are due now. Repeating
// a backfill creates no task twice, and completes a backfill that an error
// ended early. Errors: ErrNotFound, ErrPrecondition, ErrQuota, ErrFull,
// ErrRateLimited, and an Error with code too_many_instants if there are more
// than 1000. Options: IfMatch.
func (ss Schedules) Backfill(ctx context.Context, name string, from, until time.Time, opts ...CallOption) (BackfillResult, error) {
	reply, _, err := conn.Named[BackfillResult](ctx, ss.conn, "backfill schedule", "/schedules/", name, &conn.Call{
		Method: http.MethodPost, Path: "/backfill", Takes: "IfMatch", Options: given(opts), Send: wire.BackfillInput{From: convert.Instant(from), Until: convert.Instant(until)}, Extra: backfillTimeout, Repeatable: true,
	})
	if err != nil {
		return BackfillResult{}, err
	}
	return *reply, nil
}

// backfillTimeout is the time allowed for a backfill of many large tasks.
const backfillTimeout = 5 * time.Minute

// Preview returns at most limit instants of a schedule's rule from one time on,
// regardless of runs and pauses. limit is at most 1000. A limit of 0 means 10.
// If from is the zero time, the list begins now and also ends with MaxRuns.
// Errors: ErrNotFound.
func (ss Schedules) Preview(ctx context.Context, name string, from time.Time, limit int) ([]Instant, error) {
	values := conn.Params{}
	values.Add("limit", limit)
	values.Add("from", from)
	type instants struct {
		Instants []Instant `json:"instants"`
	}
	list, _, err := conn.Named[instants](ctx, ss.conn, "preview schedule", "/schedules/", name, &conn.Call{Method: http.MethodGet, Path: "/preview", Query: values, Repeatable: true})
	if err != nil {
		return nil, err
	}
	return list.Instants, nil
}

// RuleQuery selects the parts of a RulePreview, by default the next 10
// instants.
type RuleQuery struct {
	From        time.Time // the first instant is at this time or later. Default: now
	Limit       int       // at most 1000. Default: 10
	Days        int       // count the instants of this number of days; at most 366
	AbsentFrom  time.Time // from this time until AbsentUntil no server fires the schedule; set both or none
	AbsentUntil time.Time
}

// RulePreview has the instants of a rule.
type RulePreview struct {
	Words        string // the rule as a sentence
	Instants     []Instant
	ClockChanges []ClockChange // in the time of Instants and Days
	Days         []int         // number of instants of each local day, at most 100
	Absence      *Absence      // nil without AbsentFrom
}

// ClockChange is a change of a zone's clocks that skips or repeats times of a
// rule.
type ClockChange struct {
	At, Local time.Time // the first instant with the new clocks
	Repeats   bool      // the times occur twice; false: they do not exist
	Words     string    // a sentence
}

// Absence is the effect of a time during which no server fires a schedule.
type Absence struct {
	Fired   int       // number of missed instants that create a task at the end
	Latest  []Instant // the last 20 of them
	Skipped []SkippedInstants
}

// PreviewRule returns the instants of a rule that is not stored: that of s,
// whose Task, Paused and SetRuns are ignored. Errors: an Error with the field
// that is not valid.
func (ss Schedules) PreviewRule(ctx context.Context, s ScheduleSpec, q RuleQuery) (*RulePreview, error) {
	values := conn.Params{}
	for name, value := range map[string]any{"from": q.From, "absent_from": q.AbsentFrom, "absent_until": q.AbsentUntil, "limit": q.Limit, "days": q.Days} {
		values.Add(name, value)
	}
	var rule wire.ScheduleRule
	if err := codec.Convert(&rule, s.anchored()); err != nil {
		return nil, err
	}
	v := new(RulePreview)
	_, err := ss.conn.Do(ctx, &conn.Call{Op: "preview a rule", Method: http.MethodPost, Path: "/schedules/preview", Query: values, Send: &rule, Repeatable: true, Into: v})
	return conn.OrNil(v, err), err
}

// one sends a call about one schedule, with its path after the schedule's.
func (ss Schedules) one(ctx context.Context, verb, name string, c *conn.Call) (*Schedule, error) {
	s, _, err := conn.Named[Schedule](ctx, ss.conn, verb, "/schedules/", name, c)
	return s, err
}

func (p RulePreview) MarshalJSON() ([]byte, error) { return encode[wire.RulePreview](p) }

func (p *RulePreview) UnmarshalJSON(data []byte) error { return decode[wire.RulePreview](data, p) }

func (i Instant) MarshalJSON() ([]byte, error) { return encode[wire.Instant](i) }

func (i *Instant) UnmarshalJSON(data []byte) error { return decode[wire.Instant](data, i) }
