package maintenance

import (
	"context"
	"errors"
	"log/slog"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// purgePage is the number of tasks that one call cancels, small enough that
// creates and claims of other callers run between the calls.
const purgePage = 500

// actor appears in the audit log.
var actor = settings.Actor{By: "upkeep"}

// purges performs all purges in the settings. It does one page of each purge in
// round-robin order, because a queue starts no tasks until its purge is done. So
// a purge of millions of tasks does not delay that of another queue.
func (w *Worker) purges(ctx context.Context) {
	ctx = settings.WithActor(ctx, actor)
	begun := map[settings.SettingKey]*purge{}
	for failed := map[settings.SettingKey]bool{}; ctx.Err() == nil; {
		open := 0
		for _, r := range w.store.Standing().Settings.List(settings.QueueKind, "") {
			q, key := r.(*settings.QueueSettings), r.Key()
			if q.PurgeBefore == 0 || failed[key] {
				continue
			}
			open++
			p := begun[key]
			if p == nil || p.doomed.EnteredBefore != q.PurgeBefore { // a new purge: start from the beginning
				p = &purge{doomed: q.Doomed()}
				begun[key] = p
			}
			if err := w.step(ctx, p); err != nil {
				failed[key] = true
				w.logFailure(ctx, "purge queue "+q.Name, err)
			}
		}
		if open == 0 {
			return
		}
	}
}

// purge is the progress of one purge.
type purge struct {
	doomed    task.Filter
	after     string // the name of the last task that was checked
	cancelled int
}

// step cancels one page of the tasks of p, and after the last page it removes the
// mark of the queue. Tasks that entered the queue before the request are in the
// store when the mark is, so one pass finds all of them.
func (w *Worker) step(ctx context.Context, p *purge) error {
	page, err := w.store.List(ctx, p.doomed, task.Page{After: p.after, Limit: purgePage})
	if err != nil {
		return err
	}
	n, err := w.cancel(ctx, &p.doomed, page.Tasks)
	p.cancelled += n
	if err != nil {
		return err
	}
	if p.after = page.Next; p.after != "" {
		return nil
	}
	f := &p.doomed
	if _, err := w.store.Configure(ctx, w.now(), []settings.Edit{settings.EndPurge{Namespace: f.Namespace, Name: f.Queue, Before: f.EnteredBefore, Cancelled: p.cancelled}}); err != nil {
		return err
	}
	w.config.Logger.LogAttrs(ctx, slog.LevelInfo, "a queue was purged",
		slog.String("namespace", f.Namespace), slog.String("queue", f.Queue), slog.Int("cancelled", p.cancelled))
	return nil
}

func (w *Worker) cancel(ctx context.Context, still *task.Filter, tasks []*task.Task) (n int, err error) {
	if len(tasks) == 0 {
		return 0, nil
	}
	changes := make([]task.Change, len(tasks))
	for i, t := range tasks {
		changes[i] = task.Cancel{Key: t.Key(), Only: still, Reason: task.ReasonPurged}
	}
	replies, err := w.store.Transit(ctx, w.now(), store.Changes(changes))
	if err != nil {
		return 0, err
	}
	for _, r := range replies {
		var state *task.StateError
		switch {
		case r.Already:
		case r.Err == nil:
			n++
		case errors.Is(r.Err, task.ErrNotFound), errors.Is(r.Err, task.ErrPrecondition), errors.As(r.Err, &state): // the task ended or was replaced
		default:
			return n, r.Err
		}
	}
	return n, nil
}
