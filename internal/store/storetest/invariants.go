package storetest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// CheckInvariants audits a store that has no other user at the same time. Each
// waiting task must be in its lane and in no other, each entry of a lane must
// wait, and every record must be valid. It checks the given namespaces, or the
// default one; a lane of another namespace is an error. It reads every task:
// O(tasks).
func CheckInvariants(t testing.TB, s store.Store, now task.Millis, namespaces ...string) {
	t.Helper()
	if len(namespaces) == 0 {
		namespaces = []string{task.DefaultNamespace}
	}
	for _, err := range audit(t.Context(), s, now, namespaces) {
		t.Errorf("invariant broken: %v", err)
	}
}

// audit returns the violations found, at most a few of each kind.
func audit(ctx context.Context, s store.Store, now task.Millis, namespaces []string) []error {
	var errs []error
	waits := map[task.Entry]bool{}
	heads := map[task.Lane]*task.Task{}
	for _, namespace := range namespaces {
		tasks, err := DrainAll(ctx, s, namespace, task.Page{Limit: 1000})
		if err != nil {
			return append(errs, err)
		}
		if err := compareEnded(ctx, s, math.MinInt64, task.Filter{Namespace: namespace, States: endedStates}, 1000, tasks); err != nil {
			errs = append(errs, err)
		}
		for _, t := range tasks {
			if err := whole(t); err != nil {
				errs = append(errs, fmt.Errorf("record %s/%s: %w", t.Namespace, t.Name, err))
			}
			if t.State != task.Scheduled {
				continue
			}
			waits[t.Entry()] = true
			if h := heads[t.Lane()]; h == nil || t.Due < h.Due {
				heads[t.Lane()] = t
			}
		}
	}
	indexed, err := everyLane(ctx, s)
	if err != nil {
		return append(errs, err)
	}
	for e := range waits {
		if !indexed[e] {
			errs = append(errs, fmt.Errorf("%s/%s is scheduled for %d and in no lane: it would never fire", e.Lane.Namespace, e.Name, e.Due))
		}
	}
	for e := range indexed {
		if !waits[e] {
			errs = append(errs, fmt.Errorf("lane %+v holds %q at %d, and no record waits there", e.Lane, e.Name, e.Due))
		}
	}
	for _, until := range []task.Millis{now, forever} {
		if err := lanesCover(ctx, s, until, heads); err != nil {
			errs = append(errs, err)
		}
	}
	if err := checkCounts(ctx, s, namespaces); err != nil {
		errs = append(errs, err)
	}
	if _, err := checkDue(ctx, s, namespaces, math.MaxInt32); err != nil {
		errs = append(errs, err)
	}
	return errs[:min(len(errs), 20)]
}

// checkCounts compares the store's counts with its lists.
func checkCounts(ctx context.Context, s store.Store, namespaces []string) error {
	want := map[task.QueueKey]task.Counts{}
	for _, namespace := range namespaces {
		tasks, err := DrainAll(ctx, s, namespace, task.Page{Limit: 1000})
		if err != nil {
			return err
		}
		for _, t := range tasks {
			key := task.QueueKey{Namespace: t.Namespace, Queue: t.Queue}
			n := want[key]
			n.Move(nil, t)
			want[key] = n
		}
	}
	got, err := s.Counts(ctx)
	if err != nil {
		return err
	}
	for _, key := range slices.Collect(maps.Keys(got)) {
		if !slices.Contains(namespaces, key.Namespace) {
			delete(got, key)
		}
	}
	if d := diff(want, got); d != "" {
		return fmt.Errorf("the counts (- the records, + the counts):\n%s", d)
	}
	return nil
}

// everyLane reads all lanes to their ends.
func everyLane(ctx context.Context, s store.Store) (map[task.Entry]bool, error) {
	lanes, err := store.LaneHeads(ctx, s, forever)
	if err != nil {
		return nil, err
	}
	indexed := map[task.Entry]bool{}
	for some := range slices.Chunk(lanes, 100) {
		reads := make([]store.LaneRead, len(some))
		for i, l := range some {
			reads[i] = store.LaneRead{Lane: l.Lane, Until: forever, Limit: 1000}
		}
		for len(reads) > 0 {
			found, err := s.Peek(ctx, reads)
			if err != nil {
				return nil, err
			}
			more := reads[:0]
			for i, read := range reads {
				if len(found[i]) == 0 {
					continue
				}
				if err := follow(&read, found[i], indexed); err != nil {
					return nil, err
				}
				more = append(more, read)
			}
			reads = more
		}
	}
	return indexed, nil
}

// follow adds the entries that a read has found, and moves the read behind them.
func follow(read *store.LaneRead, found []task.Entry, indexed map[task.Entry]bool) error {
	for _, e := range found {
		if !read.After.Less(e.Position()) || e.Lane != read.Lane {
			return fmt.Errorf("lane %+v after %+v: entry %+v is out of order or of another lane", read.Lane, read.After, e)
		}
		indexed[e] = true
		read.After = e.Position()
	}
	return nil
}

// lanesCover checks that Lanes(until) names every lane whose head is due by
// then.
func lanesCover(ctx context.Context, s store.Store, until task.Millis, heads map[task.Lane]*task.Task) error {
	lanes, err := store.LaneHeads(ctx, s, until)
	if err != nil {
		return err
	}
	var due []*task.Task
	for _, t := range heads {
		if t.Due <= until {
			due = append(due, t)
		}
	}
	return checkLanes(lanes, until, due)
}

// whole returns an error if a record violates an invariant by itself.
func whole(t *task.Task) error {
	ended := t.State == task.Dead || t.State.Finished()
	switch {
	case !t.State.Valid():
		return fmt.Errorf("state %d", t.State)
	case t.IsSchedule() != (t.Name[0] == '@') || t.IsSchedule() != (t.Queue == task.ScheduleQueue):
		return fmt.Errorf("a schedule %v in the queue %q", t.Recur, t.Queue)
	case (t.Lease != nil) != (t.State == task.Running):
		return fmt.Errorf("%v with lease %+v", t.State, t.Lease)
	case t.CancelRequested && t.State != task.Running:
		return fmt.Errorf("%v with a cancel to come", t.State)
	case t.State.Live() && t.Reason != "" && !t.CancelRequested:
		return fmt.Errorf("%v with reason %q", t.State, t.Reason)
	case ended != (t.FinishedAt != 0) || ended != (t.KeepUntil != 0):
		return fmt.Errorf("%v, ended at %d, kept until %d", t.State, t.FinishedAt, t.KeepUntil)
	case t.Whole && !t.State.Finished():
		return fmt.Errorf("%v and whole", t.State)
	case t.State.Finished() && t.Request.BodySize != 0 && !t.Whole:
		return fmt.Errorf("%v with a body of %d bytes", t.State, t.Request.BodySize)
	case t.State.Finished() && slices.ContainsFunc(t.History[:max(0, len(t.History)-1)], func(a task.Attempt) bool { return a.Reply != "" }):
		return fmt.Errorf("%v with replies of attempts before the last one", t.State)
	case len(t.History) > task.MaxHistory:
		return fmt.Errorf("%d attempts", len(t.History))
	case t.AttemptsUsed > t.Attempts || t.Reclaims > task.MaxReclaims:
		return fmt.Errorf("%d attempts spent of %d, %d reclaims", t.AttemptsUsed, t.Attempts, t.Reclaims)
	case !slices.IsSortedFunc(t.History, func(a, b task.Attempt) int { return a.Number - b.Number }):
		return fmt.Errorf("attempts out of order: %+v", t.History)
	}
	return nil
}
