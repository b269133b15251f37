package storetest

import (
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// closeCases: a closed store fails its callers, and does not hang or crash
// them.
var closeCases = []testCase{
	{
		"a closed store says so",
		"After Close every method returns ErrClosed; it neither panics nor answers from memory. Closing twice is fine.",
		func(f *fixture) {
			made := f.create("a")
			if err := f.store.Standing().Err; err != nil {
				f.Fatalf("Err of a store that works: %v", err)
			}
			for range 2 {
				if err := f.store.Close(); err != nil {
					f.Fatalf("Close: %v", err)
				}
			}
			s, ctx := f.store, f.Context()
			calls := map[string]func() error{
				"Apply": func() error {
					_, err := s.Transit(ctx, start, store.Changes([]task.Change{task.Cancel{Key: made.Key()}}))
					return err
				},
				"Get":         func() error { _, err := s.Get(ctx, made.Key()); return err },
				"List":        func() error { _, err := s.List(ctx, ns(), task.Page{Limit: 1}); return err },
				"List by end": func() error { _, err := s.List(ctx, ns(), task.Page{ByEnd: start, Limit: 1}); return err },
				"Upcoming":    func() error { _, err := s.Upcoming(ctx, store.UpcomingRead{Limit: 1}); return err },
				"LanePages": func() error {
					_, err := s.LanePages(ctx, forever, []store.LanePageRead{{Namespace: "n", Limit: 1}})
					return err
				},
				"Peek": func() error {
					_, err := s.Peek(ctx, []store.LaneRead{{Lane: made.Lane(), Until: forever, Limit: 1}})
					return err
				},
				"Claim": func() error {
					_, err := s.Transit(ctx, start, store.Claims([]task.Claim{{Key: made.Key(), Lane: made.Lane(), Token: "t"}}))
					return err
				},
				"Extend": func() error {
					_, err := s.Transit(ctx, start, store.Extensions([]task.Extension{{Key: made.Key(), Token: "t"}}))
					return err
				},
				"Settle": func() error {
					_, err := s.Transit(ctx, start, store.Settlements([]task.Settlement{{Key: made.Key(), Token: "t"}}))
					return err
				},
				"Reap": func() error { _, err := s.(store.Reaper).Reap(ctx, start, 1); return err },
				"Configure": func() error {
					_, err := s.Configure(ctx, start, []settings.Edit{settings.PutQueue{Queue: queueOf("q")}})
					return err
				},
				"Counts": func() error { _, err := s.Counts(ctx); return err },
				"Audit":  func() error { _, err := s.Audit(ctx, settings.AuditFilter{}, 0, 1); return err },
				"Scrub":  func() error { _, err := s.Scrub(ctx, start, "", 1); return err },
				"Sweep":  func() error { _, err := s.Sweep(ctx, start, 1); return err },
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, task.ErrClosed) {
					f.Errorf("%s: %v", name, err)
				}
			}
			s.Watch(store.Watcher{Tasks: func([]task.Entry) {}})()
			if s.Standing().Settings == nil {
				f.Error("Settings is nil")
			}
		},
	},
	{
		"a store names its durability",
		"Durability is the word that replies show to clients: it is never empty.",
		func(f *fixture) {
			if f.store.Standing().Durability == "" {
				f.Error("it is empty")
			}
		},
	},
}
