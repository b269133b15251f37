package upkeep

import (
	"context"
	"errors"
	"log/slog"

	"github.com/foliot/foliot/internal/task"
)

// purgePage is how many tasks one call cancels: few enough that creates and
// claims of others go on in between.
const purgePage = 500

// actor is who the audit log names.
var actor = task.Actor{By: "upkeep"}

// purges carries out all purges that the settings ask for.
func (u *Upkeep) purges(ctx context.Context) {
	for _, r := range u.store.Settings().List(task.QueueKind, "") {
		q := r.(*task.QueueSettings)
		if q.PurgeBefore == 0 {
			continue
		}
		if err := u.purge(task.WithActor(ctx, actor), q); err != nil {
			u.complain(ctx, "purge the queue "+q.Name, err)
		}
	}
}

// purge cancels what q's mark is about, and then takes the mark away. Nothing
// of the queue is claimed meanwhile, and what is created meanwhile is younger
// than the mark, so one round through the queue sees everything.
func (u *Upkeep) purge(ctx context.Context, q *task.QueueSettings) error {
	doomed := task.Filter{
		Namespace: q.Namespace, Queue: q.Name, CreatedUntil: q.PurgeBefore,
		States: []task.State{task.Scheduled, task.Running, task.Dead},
	}
	cancelled := 0
	for after := ""; ; {
		page, err := u.store.List(ctx, doomed, task.Page{After: after, Limit: purgePage})
		if err != nil {
			return err
		}
		n, err := u.cancel(ctx, &doomed, page.Tasks)
		cancelled += n
		if err != nil {
			return err
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if _, err := u.store.Configure(ctx, now(), []task.Edit{task.EndPurge{Namespace: q.Namespace, Name: q.Name, Before: q.PurgeBefore}}); err != nil {
		return err
	}
	u.config.Logger.LogAttrs(ctx, slog.LevelInfo, "purged a queue",
		slog.String("namespace", q.Namespace), slog.String("queue", q.Name), slog.Int("cancelled", cancelled))
	return nil
}

// cancel cancels tasks that still match, and returns how many those were.
func (u *Upkeep) cancel(ctx context.Context, still *task.Filter, tasks []*task.Task) (n int, err error) {
	if len(tasks) == 0 {
		return 0, nil
	}
	changes := make([]task.Change, len(tasks))
	for i, t := range tasks {
		changes[i] = task.Cancel{Key: t.Key(), Only: still, Reason: task.ReasonPurged}
	}
	replies, err := u.store.Apply(ctx, now(), changes)
	if err != nil {
		return 0, err
	}
	for _, r := range replies {
		var state *task.StateError
		switch {
		case r.Err == nil:
			n++
		case errors.Is(r.Err, task.ErrNotFound), errors.Is(r.Err, task.ErrPrecondition), errors.As(r.Err, &state): // ended, or replaced, meanwhile
		default:
			return n, r.Err
		}
	}
	return n, nil
}
