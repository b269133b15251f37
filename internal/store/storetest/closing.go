package storetest

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// closeCases: a closed store fails its callers, and does not hang or crash
// them.
var closeCases = []testCase{
	{
		"a closed store says so",
		"After Close every method returns ErrClosed; it neither panics nor answers from memory. Closing twice is fine.",
		func(f *fixture) {
			if err := f.store.Standing().Err; err != nil {
				f.Fatalf("Err of a store that works: %v", err)
			}
			for range 2 {
				if err := f.store.Close(); err != nil {
					f.Fatalf("Close: %v", err)
				}
			}
			for name, call := range Calls(f.Context(), f.store, start) {
				if err := call(); !errors.Is(err, task.ErrClosed) {
					f.Errorf("%s: %v", name, err)
				}
			}
			f.store.Watch(store.Watcher{Tasks: func([]task.Entry) {}})()
			if f.store.Standing().Settings == nil {
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

// Calls returns a call of each method that needs the medium, and of each kind of step.
func Calls(ctx context.Context, s store.Store, now task.Millis) map[string]func() error {
	key := tasktest.Key("a")
	steps := func(steps []store.Step) func() error {
		return func() error { return errOf(s.Transit(ctx, now, steps)) }
	}
	return map[string]func() error{
		"Create":      steps(store.Changes([]task.Change{task.Create{Spec: tasktest.Spec("calls", now)}})),
		"Cancel":      steps(store.Changes([]task.Change{task.Cancel{Key: key}})),
		"Claim":       steps(store.Claims([]task.Claim{{Key: key, Token: "t"}})),
		"Extend":      steps(store.Extensions([]task.Extension{{Key: key, Token: "t"}})),
		"Settle":      steps(store.Settlements([]task.Settlement{{Key: key, Token: "t"}})),
		"Fire":        steps(store.Fires([]task.Fire{{Key: task.ScheduleKey(task.DefaultNamespace, "s")}})),
		"Get":         func() error { return errOf(s.Get(ctx, key)) },
		"List":        func() error { return errOf(s.List(ctx, ns(), task.Page{Limit: 1})) },
		"List by end": func() error { return errOf(s.List(ctx, ns(), task.Page{ByEnd: now, Limit: 1})) },
		"Upcoming":    func() error { return errOf(s.Upcoming(ctx, store.UpcomingRead{Limit: 1})) },
		"LanePages": func() error {
			return errOf(s.LanePages(ctx, forever, []store.LanePageRead{{Namespace: "n", Limit: 1}}))
		},
		"Peek": func() error {
			return errOf(s.Peek(ctx, []store.LaneRead{{Lane: task.ScheduleLane("n"), Until: forever, Limit: 1}}))
		},
		"Reap":   func() error { return errOf(s.(store.Reaper).Reap(ctx, now, 1)) },
		"Sweep":  func() error { return errOf(s.Sweep(ctx, now, 1)) },
		"Counts": func() error { return errOf(s.Counts(ctx)) },
		"Audit":  func() error { return errOf(s.Audit(ctx, settings.AuditFilter{}, 0, 1)) },
		"Scrub":  func() error { return errOf(s.Scrub(ctx, now, "", 1)) },
		"Configure": func() error {
			return errOf(s.Configure(ctx, now, []settings.Edit{settings.PutQueue{Queue: queueOf("q")}}))
		},
	}
}

func errOf[T any](_ T, err error) error { return err }
