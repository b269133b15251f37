package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// view is the state of a store as seen from outside.
type view struct {
	Contents
	Lanes  [][]task.Entry
	Counts map[task.QueueKey]task.Counts
}

// look reads everything in the generator's universe.
func look(ctx context.Context, s store.Store) (view, error) {
	var v view
	for _, namespace := range universe.namespaces {
		tasks, err := DrainAll(ctx, s, namespace, task.Page{Limit: 100, Bodies: true})
		if err != nil {
			return view{}, fmt.Errorf("list: %w", err)
		}
		for _, t := range tasks {
			v.Records = append(v.Records, plain(t))
		}
		ended := task.Filter{Namespace: namespace, States: endedStates}
		if err := compareEnded(ctx, s, math.MinInt64, ended, 100, tasks); err != nil {
			return view{}, err
		}
		if i := slices.IndexFunc(tasks, func(t *task.Task) bool { return !t.State.Live() }); i >= 0 {
			ended.EndedAfter = tasks[i].FinishedAt
			if err := compareEnded(ctx, s, math.MinInt64, ended, 2, tasks); err != nil {
				return view{}, err
			}
		}
	}
	reads := make([]store.LaneRead, 0, 100)
	for _, lane := range universe.lanes() {
		reads = append(reads, store.LaneRead{Lane: lane, Until: forever, Limit: 100})
	}
	found, err := s.Peek(ctx, reads)
	if err != nil {
		return view{}, fmt.Errorf("peek: %w", err)
	}
	for _, entries := range found {
		v.Lanes = append(v.Lanes, append([]task.Entry(nil), entries...)) // nil if there are none
	}
	waiting := slices.DeleteFunc(slices.Clone(v.Records), func(t *task.Task) bool { return t.State != task.Scheduled || t.IsSchedule() })
	counts := []store.DueRead{{Budget: 20}, {Budget: math.MaxInt32}}
	if len(waiting) > 0 {
		counts = append(counts, store.DueRead{Namespace: waiting[0].Namespace, Queue: waiting[0].Queue, Budget: math.MaxInt32})
	}
	for _, r := range counts {
		if _, err := compareDue(ctx, s, r, waiting); err != nil {
			return view{}, err
		}
	}
	for _, read := range upcomingReads(waiting) {
		if err := compareUpcoming(ctx, s, read, v.Records); err != nil {
			return view{}, err
		}
	}
	for kind := settings.QueueKind; kind <= settings.SecretKind; kind++ {
		v.Settings = append(v.Settings, s.Standing().Settings.List(kind, "")...)
	}
	if v.Counts, err = s.Counts(ctx); err != nil {
		return view{}, fmt.Errorf("counts: %w", err)
	}
	if v.Audit, err = drainLog(ctx, s, settings.AuditFilter{}, 1000); err != nil {
		return view{}, fmt.Errorf("audit: %w", err)
	}
	for i := range v.Audit {
		v.Audit[i].Seq = uint64(i + 1) // the contract does not fix the numbers
	}
	return v, nil
}

// upcomingReads returns a read of the first records of all, and one from a task on.
func upcomingReads(waiting []*task.Task) []store.UpcomingRead {
	reads := []store.UpcomingRead{{Until: task.Never, Limit: 3}}
	if n := len(waiting); n > 0 {
		t := waiting[n/2]
		reads = append(reads, store.UpcomingRead{Namespace: t.Namespace, Queue: t.Queue, From: t.Due, Until: t.Due + 1000, Limit: 1 + n/3})
	}
	return reads
}

// plain returns t with its empty maps, slices and bodies nil: storing may turn
// one into the other.
func plain(t *task.Task) *task.Task {
	if t == nil {
		return nil
	}
	c := *t
	if len(c.Labels) == 0 {
		c.Labels = nil
	}
	if len(c.Request.Headers) == 0 {
		c.Request.Headers = nil
	}
	if len(c.Request.Body) == 0 {
		c.Request.Body = nil
	}
	if len(c.History) == 0 {
		c.History = nil
	}
	if c.IsSchedule() && len(c.Recur.Fired) == 0 {
		r := *c.Recur
		r.Fired, c.Recur = nil, &r
	}
	return &c
}

// reply is a store.Reply in comparable form.
type reply struct {
	Task    *task.Task
	Effect  task.Effect
	Marks   [2]bool // Already, UnderWay
	Spawned *task.Task
	Skipped []recurrence.Skip
	Err     string
}

func views(replies []store.Reply, bodies bool) []reply {
	out := make([]reply, len(replies))
	for i, r := range replies {
		t := plain(r.Task)
		if t != nil && !bodies {
			t = t.WithoutBody()
		}
		out[i] = reply{Task: t, Effect: r.Effect, Marks: [2]bool{r.Already, r.UnderWay}, Spawned: plain(r.Spawned), Skipped: r.Skipped, Err: word(r.Err)}
	}
	return out
}

// sentinels are the errors of the contract without data.
var sentinels = []error{
	task.ErrNotFound, task.ErrExists, task.ErrIdempotencyReuse, task.ErrPrecondition, task.ErrStale,
	task.ErrNotDue, task.ErrLaneChanged, task.ErrExpired, task.ErrCancelRequested, task.ErrFull, task.ErrNotDurable, task.ErrClosed,
}

// word returns the class of an error for a caller that uses errors.Is and
// errors.As.
func word(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*task.StateError](err); ok {
		return fmt.Sprintf("StateError%+v", *e)
	}
	if e, ok := errors.AsType[*task.ExistsError](err); ok {
		return fmt.Sprintf("ExistsError%+v", *e)
	}
	if e, ok := errors.AsType[*task.FieldError](err); ok {
		return fmt.Sprintf("FieldError%+v", *e)
	}
	if e, ok := errors.AsType[*task.QuotaError](err); ok {
		return fmt.Sprintf("QuotaError%+v", *e)
	}
	if e, ok := errors.AsType[*settings.MissingError](err); ok {
		return fmt.Sprintf("MissingError%+v", *e)
	}
	if e, ok := errors.AsType[*settings.BusyError](err); ok {
		return fmt.Sprintf("BusyError%+v", *e)
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	return "no error of the contract: " + err.Error()
}

// differ returns an error that shows where two values differ.
func differ(what string, want, got any) error {
	if reflect.DeepEqual(want, got) {
		return nil
	}
	return &difference{what: what, want: want, got: got}
}

// difference formats itself only when it is printed: formatting is slow, and
// while a script is being shortened no difference is printed.
type difference struct {
	what      string
	want, got any
}

func (d *difference) Error() string {
	return fmt.Sprintf("%s differ (- reference, + store):\n%s", d.what, diff(d.want, d.got))
}
