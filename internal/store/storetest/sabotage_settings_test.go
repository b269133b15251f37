package storetest

import (
	"context"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// sabotagesOfSettings are bugs in settings, counts and the audit log.
var sabotagesOfSettings = map[string]func(*saboteur){
	"answers the second edit of a call and does not make it": func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			replies, err := s.Store.Configure(ctx, now, edits[:1])
			for _, e := range edits[1:] {
				changes, err := e.Apply(now, s.Standing().Settings)
				replies = append(replies, settings.EditReply{Changes: changes, Err: err})
			}
			return replies, err
		}
	},
	"forgets who made an edit": func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			return s.Store.Configure(settings.WithActor(ctx, settings.Actor{}), now, edits)
		}
	},
	"admits one task too many": func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			edits = slices.Clone(edits)
			for i, e := range edits {
				if put, ok := e.(settings.PutNamespace); ok && put.Settings.MaxPending > 0 {
					put.Settings.MaxPending++
					edits[i] = put
				}
			}
			return s.Store.Configure(ctx, now, edits)
		}
	},
	"keeps what a queue finished for as long as any other": func(s *saboteur) {
		s.configure = func(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
			edits = slices.Clone(edits)
			for i, e := range edits {
				if put, ok := e.(settings.PutQueue); ok {
					put.Queue.KeepFinished = 0
					edits[i] = put
				}
			}
			return s.Store.Configure(ctx, now, edits)
		}
	},
	"reports no death": func(s *saboteur) {
		s.apply = eachChange(s, func(c task.Change) task.Change {
			if create, ok := c.(task.Create); ok {
				create.Spec.OnDead = ""
				return create
			}
			return c
		})
	},
	"counts the dead twice": func(s *saboteur) {
		s.counts = func(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
			all, err := s.Store.Counts(ctx)
			for key, n := range all {
				n.States[task.Dead] *= 2
				all[key] = n
			}
			return all, err
		}
	},
	"forgets who makes a change": func(s *saboteur) {
		s.apply = func(ctx context.Context, now task.Millis, c []task.Change) ([]store.Reply, error) {
			return s.Store.Transit(settings.WithActor(ctx, settings.Actor{}), now, store.Changes(c))
		}
	},
	"leaves pauses out of the audit log": func(s *saboteur) {
		s.audit = func(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
			p, err := s.Store.Audit(ctx, f, before, limit)
			p.Entries = slices.DeleteFunc(p.Entries, func(e settings.AuditEntry) bool { return e.Action == "queue.pause" })
			return p, err
		}
	},
	"takes leases back at the first look": func(s *saboteur) {
		s.scrub = func(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
			_, err := s.Store.Scrub(ctx, now.Add(-store.AbandonedAfter), "", 1000)
			if err != nil {
				return store.Scrubbed{}, err
			}
			return s.Store.Scrub(ctx, now, cursor, limit)
		}
	},
}

func (s *saboteur) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	if s.configure != nil {
		return s.configure(ctx, now, edits)
	}
	return s.Store.Configure(ctx, now, edits)
}

func (s *saboteur) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	if s.counts != nil {
		return s.counts(ctx)
	}
	return s.Store.Counts(ctx)
}

func (s *saboteur) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	if s.audit != nil {
		return s.audit(ctx, f, before, limit)
	}
	return s.Store.Audit(ctx, f, before, limit)
}

func (s *saboteur) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	if s.scrub != nil {
		return s.scrub(ctx, now, cursor, limit)
	}
	return s.Store.Scrub(ctx, now, cursor, limit)
}
