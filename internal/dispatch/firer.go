package dispatch

import (
	"context"
	"errors"
	"log/slog"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// fireBatch is how many schedules one Fire fires. Schedules that become due
// during the call wait for the next one.
const fireBatch = 128

// firer fires schedules, and ends when stopping does, after the call that is
// under way.
func (d *Dispatcher) firer(stopping, calls context.Context) {
	for wait := firstWait; ; {
		select {
		case <-d.fires:
		case <-stopping.Done():
			return
		}
		for stopping.Err() == nil {
			var fires []task.Fire
			d.update(func(now task.Millis) { fires = d.planner.TakeFires(now, fireBatch) })
			if len(fires) == 0 {
				break
			}
			if d.fire(stopping, calls, fires) {
				wait = firstWait
			} else if pause(stopping, wait) { // the poll finds all of them due again
				wait = nextWait(wait)
			}
		}
	}
}

// fire fires a batch. It reports false if the store was full or unavailable for
// the whole batch. A call that failed may have been applied, but schedules that
// it fired are no longer due when the call is repeated. Refused schedules stay
// due, so the poll finds them.
func (d *Dispatcher) fire(stopping, calls context.Context, fires []task.Fire) (some bool) {
	var replies []store.Reply
	_ = d.retry(stopping, calls, "fire schedules", func(bool) (err error) {
		replies, err = d.queue.Transit(calls, d.now(), store.Fires(fires))
		return err
	})
	skipped := skippedBy(replies)
	d.update(func(now task.Millis) {
		for _, f := range fires {
			d.planner.Answered(f.Key)
		}
		for _, r := range replies {
			forNow := (errors.Is(r.Err, task.ErrFull) || errors.Is(r.Err, task.ErrUnavailable)) && !errors.As(r.Err, new(*task.LockedError)) // not because of the schedule
			if some = some || !forNow; r.Err == nil {
				// A hint has reported the occurrence, which may have begun
				// already.
				d.planner.Offer(now, r.Task.Entry())
				if r.Spawned != nil {
					d.count.Fired++
				}
			}
		}
		for _, s := range skipped {
			d.count.Skipped[s.Why] += uint64(s.count)
		}
	})
	for i, r := range replies {
		d.logFired(calls, fires[i], r)
	}
	for _, s := range skipped {
		d.config.Logger.LogAttrs(calls, slog.LevelWarn, "a schedule skipped instants",
			slog.String("schedule", s.schedule.ScheduleName()), slog.String("namespace", s.schedule.Namespace), slog.String("why", s.Why),
			slog.Time("from", s.From.Time()), slog.Time("until", s.Until.Time()), slog.Int("instants", s.count))
	}
	return some
}

// logFired logs why a schedule could not be fired.
func (d *Dispatcher) logFired(ctx context.Context, f task.Fire, r store.Reply) {
	switch {
	// The schedule was moved, paused, removed, or is owned by another node.
	case errors.Is(r.Err, task.ErrNotDue), errors.Is(r.Err, task.ErrNotFound), errors.Is(r.Err, task.ErrLaneChanged):
	case r.Err != nil:
		d.logFailure(ctx, "fire a schedule", r.Err)
	case r.Task.Recur.Problem != "":
		d.config.Logger.Error("could not follow a schedule", "schedule", r.Task.ScheduleName(), "namespace", f.Key.Namespace, "error", r.Task.Recur.Problem)
	}
}

// countMost bounds how many skipped instants are counted, of one stretch and of
// all stretches of a batch. A thousand expressions that did not run for a year
// would take longer to count than to fire.
const countMost = 10_000

// stretch is a series of instants that a schedule skipped.
type stretch struct {
	schedule *task.Task
	recurrence.Skip
	count int // number of instants, at least 1
}

// skippedBy returns the instants that schedules skipped when they were fired.
func skippedBy(replies []store.Reply) (all []stretch) {
	left := countMost
	for _, r := range replies {
		for _, s := range r.Skipped {
			most := countMost
			if r.Task.Recur.Cron != "" { // its instants are counted one by one
				most = max(left, 1)
			}
			n := max(r.Task.Recur.Count(s.Span, most), 1)
			left -= n
			all = append(all, stretch{r.Task, s, n})
		}
	}
	return all
}
