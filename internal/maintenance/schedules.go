package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// schedulePage is how many schedules one call looks at.
const schedulePage = 500

// rounds looks at all schedules whenever that is due, until ctx ends. A schedule's next
// instant was computed from the time and the rules of its zone as they were: where the clock
// was set back it would stand still until then, and where a zone has other rules it would fire
// at another time of the day.
func (w *Worker) rounds(ctx context.Context) {
	base, tick := time.Now(), time.NewTicker(w.config.Every)
	defer tick.Stop()
	clocks := func() (wall, steady time.Duration) {
		return w.config.Now().Round(0).Sub(base.Round(0)), time.Since(base)
	}
	for r := newRounds(clocks()); ; {
		if step, due := r.due(clocks()); due {
			if step != 0 {
				w.config.Logger.LogAttrs(ctx, slog.LevelWarn, "the wall clock was set: the next instants of all schedules are computed anew", slog.String("by", step.Round(time.Millisecond).String()))
			}
			wall, steady := clocks()
			r.begin(wall, steady, rand.Float64())
			if err := w.checkAll(ctx); err != nil {
				w.complain(ctx, "look at the schedules", err)
				_, steady = clocks()
				r.failed(steady)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkAll looks at every schedule.
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
		w.config.Logger.LogAttrs(ctx, slog.LevelInfo, "schedules have another next instant, as the clock was set, or their zones have other rules", slog.Int("schedules", moved))
	}
	return nil
}

// checkNamespace looks at the schedules of a namespace, and returns how many were moved.
func (w *Worker) checkNamespace(ctx context.Context, namespace string) (moved int, err error) {
	schedules := task.Filter{Namespace: namespace, Queue: task.ScheduleQueue, States: []task.State{task.Scheduled}}
	begin := task.ScheduleKey(namespace, "").Name // before it stand tasks: what was named by its id begins with a digit
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

// check looks at some schedules, and returns how many it changed.
func (w *Worker) check(ctx context.Context, schedules []*task.Task) (moved int, err error) {
	if len(schedules) == 0 {
		return 0, nil
	}
	changes := make([]task.Change, len(schedules))
	for i, t := range schedules {
		changes[i] = task.CheckSchedule{Key: t.Key()}
	}
	replies, err := w.store.Apply(ctx, w.now(), changes)
	if err != nil {
		return 0, err
	}
	for _, r := range replies {
		switch {
		case r.Err == nil && r.Effect != task.Repeated:
			moved++
		case r.Err != nil && !errors.Is(r.Err, task.ErrNotFound): // which was removed meanwhile
			return moved, r.Err
		}
	}
	return moved, nil
}
