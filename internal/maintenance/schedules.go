package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// schedulePage is the number of schedules that one call checks.
const schedulePage = 500

// checkSchedules checks all schedules whenever a round is due, until ctx ends. The
// stored next instant of a schedule depends on the time and the zone rules at its
// computation. After the clock was set back, the schedule would not fire until
// that instant, and with new zone rules, it would fire at a wrong time of day.
func (w *Worker) checkSchedules(ctx context.Context) {
	base, tick := time.Now(), time.Tick(every)
	clocks := func() (wall, monotonic time.Duration) {
		return w.config.Now().Round(0).Sub(base.Round(0)), time.Since(base)
	}
	for r := newRoundTimer(clocks()); ; {
		if step, due := r.due(clocks()); due {
			if step != 0 {
				w.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the wall clock was set: the next instants of all schedules are computed again", slog.String("by", step.Round(time.Millisecond).String()))
			}
			wall, monotonic := clocks()
			r.begin(wall, monotonic, rand.Float64())
			if err := w.checkAll(ctx); err != nil {
				w.logFailure(ctx, "check the schedules", err)
				_, monotonic = clocks()
				r.next = monotonic + roundAgain
			}
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Worker) checkAll(ctx context.Context) error {
	counts, err := w.store.Counts(ctx)
	if err != nil {
		return err
	}
	moved := 0
	for key, c := range counts {
		if key.Queue != task.ScheduleQueue || c.States[task.Scheduled] == 0 {
			continue
		}
		n, err := w.checkNamespace(ctx, key.Namespace)
		if moved += n; err != nil {
			return err
		}
	}
	if moved > 0 {
		w.config.Logger.LogAttrs(ctx, slog.LevelInfo, "the next instants of schedules changed, because the clock was set or time zone rules changed", slog.Int("schedules", moved))
	}
	return nil
}

// checkNamespace checks the schedules of a namespace, and returns how many it
// changed.
func (w *Worker) checkNamespace(ctx context.Context, namespace string) (moved int, err error) {
	schedules := task.Filter{Namespace: namespace, Queue: task.ScheduleQueue, States: []task.State{task.Scheduled}}
	begin := task.ScheduleKey(namespace, "").Name // skips unnamed tasks: they sort first, because their name is an id, which begins with a digit
	for page := (task.Page{After: begin, Before: task.FirstTaskName, Limit: schedulePage}); ; {
		listing, err := w.store.List(ctx, schedules, page)
		if err != nil {
			return moved, err
		}
		n, err := w.check(ctx, listing.Tasks)
		if moved += n; err != nil || listing.Next == "" {
			return moved, err
		}
		page.After = listing.Next
	}
}

func (w *Worker) check(ctx context.Context, schedules []*task.Task) (moved int, err error) {
	if len(schedules) == 0 {
		return 0, nil
	}
	changes := make([]task.Change, len(schedules))
	for i, t := range schedules {
		changes[i] = task.CheckSchedule{Key: t.Key()}
	}
	replies, err := w.store.Transit(ctx, w.now(), store.Changes(changes))
	if err != nil {
		return 0, err
	}
	for _, r := range replies {
		switch {
		case r.Err == nil && r.Effect != task.Repeated:
			moved++
		case r.Err != nil && !errors.Is(r.Err, task.ErrNotFound): // not if the schedule was removed
			return moved, r.Err
		}
	}
	return moved, nil
}
