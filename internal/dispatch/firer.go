package dispatch

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// fireBatch is how many schedules one Fire fires. Schedules that become due
// during the call wait for the next one.
const fireBatch = 128

// firer fires schedules. It ends when stopping does, after the call that is
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
// the whole batch. A call that failed may have been applied: schedules that
// it fired are no longer due when the call is repeated. Refused schedules stay
// due, and the poll finds them.
func (d *Dispatcher) fire(stopping, calls context.Context, fires []task.Fire) (some bool) {
	var replies []store.Reply
	_ = d.retry(stopping, calls, "fire schedules", func(bool) (err error) {
		replies, err = d.queue.Transit(calls, d.now(), store.Fires(fires))
		return err
	})
	skipped := skippedBy(replies)
	d.update(func(now task.Millis) {
		for _, f := range fires {
			d.planner.FireAnswered(f.Key)
		}
		for _, r := range replies {
			if some = some || !refusedForNow(r.Err); r.Err == nil {
				// A hint has reported the occurrence, which may have begun
				// already.
				d.planner.Offer(now, r.Task.Entry())
				if r.Spawned != nil {
					d.count.Fired++
				}
			}
		}
		d.count.skipped(skipped)
	})
	for i, r := range replies {
		d.logFired(calls, fires[i], r)
	}
	for _, s := range skipped {
		d.logSkipped(calls, s)
	}
	return some
}

// refusedForNow reports whether err has nothing to do with the schedule itself.
func refusedForNow(err error) bool {
	return errors.Is(err, task.ErrFull) || errors.Is(err, task.ErrUnavailable)
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
