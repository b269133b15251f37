package storetest

import (
	"context"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// sabotagesOfSchedules are bugs in the treatment of schedules.
var sabotagesOfSchedules = map[string]func(*saboteur){
	"fires a millisecond early": func(s *saboteur) {
		s.fire = func(ctx context.Context, now task.Millis, fires []task.Fire) ([]store.Reply, error) {
			return s.Store.Transit(ctx, now+1, store.Fires(fires))
		}
	},
	"loses the second schedule of a batch": func(s *saboteur) {
		s.fire = func(ctx context.Context, now task.Millis, fires []task.Fire) ([]store.Reply, error) {
			replies, err := s.Store.Transit(ctx, now, store.Fires(fires[:1]))
			return append(replies, make([]store.Reply, len(fires)-1)...), err
		}
	},
	"forgets what it skipped": func(s *saboteur) {
		s.fire = eachFired(s, func(_ context.Context, _ task.Millis, r *store.Reply) error {
			r.Skipped = nil
			return nil
		})
	},
	"makes an occurrence without a body": func(s *saboteur) {
		s.fire = eachFired(s, func(ctx context.Context, now task.Millis, r *store.Reply) error {
			if r.Spawned == nil {
				return nil
			}
			_, err := s.Store.Transit(ctx, now, store.Changes([]task.Change{task.Patch{Key: r.Spawned.Key(), Body: &task.Body{}}}))
			return err
		})
	},
	"makes an occurrence, and none": func(s *saboteur) {
		s.fire = eachFired(s, func(ctx context.Context, now task.Millis, r *store.Reply) error {
			if r.Spawned == nil {
				return nil
			}
			_, err := s.Store.Transit(ctx, now, store.Changes([]task.Change{task.Cancel{Key: r.Spawned.Key()}}))
			return err
		})
	},
	"shows schedules among the tasks": func(s *saboteur) {
		s.list = func(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
			l, err := s.Store.List(ctx, f, page)
			if err != nil || f.Queue != "" || page.After != "" {
				return l, err
			}
			f.Queue = task.ScheduleQueue
			more, err := s.Store.List(ctx, f, page)
			l.Tasks = append(more.Tasks, l.Tasks...)
			return l, err
		}
	},
	"fires what is paused": func(s *saboteur) {
		s.apply = eachChange(s, func(c task.Change) task.Change {
			if p, ok := c.(task.PauseSchedule); ok {
				p.Resume = true
				return p
			}
			return c
		})
	},
	"goes on where it was, with any other rule": func(s *saboteur) {
		s.apply = eachChange(s, func(c task.Change) task.Change {
			if p, ok := c.(task.PutSchedule); ok {
				p.Spec.Rule.Anchor = 1
				return p
			}
			return c
		})
	},
}

// eachFired returns a Fire method that calls edit with each reply without an
// error.
func eachFired(s *saboteur, edit func(context.Context, task.Millis, *store.Reply) error) func(context.Context, task.Millis, []task.Fire) ([]store.Reply, error) {
	return func(ctx context.Context, now task.Millis, fires []task.Fire) ([]store.Reply, error) {
		replies, err := s.Store.Transit(ctx, now, store.Fires(fires))
		replies = slices.Clone(replies)
		for i := range replies {
			if replies[i].Err == nil && err == nil {
				err = edit(ctx, now, &replies[i])
			}
		}
		return replies, err
	}
}
