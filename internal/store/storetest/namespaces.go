package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// namespaceCases: the new owner of a removed namespace must find nothing
// of the old owner, and no task may lose its namespace.
var namespaceCases = []testCase{
	{
		"a namespace is never removed with a task in it",
		"The check and the edit are one step: of a create and a removal at the same time one fails.",
		func(f *fixture) {
			for i := range 40 {
				spec := f.spec("a", namespace("other"))
				var create task.Change = task.Create{Spec: spec}
				var undo task.Change = task.Cancel{Key: spec.Key}
				if i%2 == 0 {
					create = task.PutSchedule{Spec: f.scheduleSpec("a", time.Minute, scheduleIn("other"))}
					undo = task.RemoveSchedule{Key: create.Target()}
				}
				var made []store.Reply
				var gone []settings.EditReply
				var err1, err2 error
				var both sync.WaitGroup
				both.Go(func() { made, err1 = f.store.Transit(f.Context(), start, store.Changes([]task.Change{create})) })
				both.Go(func() {
					gone, err2 = f.store.Configure(f.Context(), start, []settings.Edit{settings.DropNamespace{Name: "other"}})
				})
				both.Wait()
				fatal.If(f, errors.Join(err1, err2))
				_, missing := errors.AsType[*settings.MissingError](made[0].Err)
				_, busy := errors.AsType[*settings.BusyError](gone[0].Err)
				if _, err := f.store.Get(f.Context(), create.Target()); (err == nil) == missing || missing == busy || (f.store.Standing().Settings.Namespace("other") == nil) != missing {
					f.Fatalf("round %d: the create: %v, the removal: %v, the record: %v", i, made[0].Err, gone[0].Err, err)
				}
				if !missing {
					f.must(start, undo)
					f.sweep(start.Add(Policy.KeepFinished), 1)
				}
			}
		},
	},
	{
		"the removal of an old version is refused",
		"The precondition is that of the removal, and a refused one leaves no mark.",
		func(f *fixture) {
			put := settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other"}}
			f.edit(put)
			old := task.Precondition{IfMatch: []string{f.store.Standing().Settings.Namespace("other").ETag()}}
			f.edit(put)
			if r := f.edits(settings.DropNamespace{Name: "other", If: old})[0]; !errors.Is(r.Err, task.ErrPrecondition) || f.store.Standing().Settings.Closing("other") {
				f.Errorf("%v, closing %v", r.Err, f.store.Standing().Settings.Closing("other"))
			}
		},
	},
	{
		"nothing is made in a namespace that does not exist",
		"A create, a replace and a schedule there are *MissingError and leave nothing.",
		func(f *fixture) {
			spec, schedule := f.spec("a", namespace("other")), f.scheduleSpec("a", time.Minute, scheduleIn("other"))
			f.edit(settings.DropNamespace{Name: "other"})
			changes := []task.Change{task.Create{Spec: spec}, task.Replace{Spec: spec}, task.Create{Spec: spec, Idempotency: idem("k", "r")}, task.PutSchedule{Spec: schedule}}
			for i, r := range f.batch(start, changes...) {
				if _, ok := errors.AsType[*settings.MissingError](r.Err); !ok || r.Task != nil {
					f.Errorf("change %d: %v", i, r.Err)
				}
			}
			f.edit(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other"}})
			f.must(start, task.Create{Spec: spec, Idempotency: idem("k", "r")})
		},
	},
	{
		"an interrupted removal blocks no other call",
		"A store that removes a namespace in steps may end between two of them. The mark that it leaves refuses no create and no removal.",
		func(f *fixture) {
			spec := f.spec("a", namespace("other"))
			f.edit(settings.CloseNamespace{Name: "other", Mark: "left"})
			f.must(start, task.Create{Spec: spec})
			f.wantBusy("other")
			f.must(start, task.Cancel{Key: spec.Key})
			f.sweep(start.Add(Policy.KeepFinished), 1)
			f.edit(settings.CloseNamespace{Name: "other"})
			f.edit(settings.DropNamespace{Name: "other"})
		},
	},
}

func scheduleIn(namespace string) func(*task.ScheduleSpec) {
	return func(s *task.ScheduleSpec) { s.Namespace = namespace }
}

// wantBusy fails the case unless a namespace cannot be removed.
func (f *fixture) wantBusy(name string) {
	f.Helper()
	r := f.edits(settings.DropNamespace{Name: name})[0]
	if _, ok := errors.AsType[*settings.BusyError](r.Err); !ok || f.store.Standing().Settings.Namespace(name) == nil {
		f.Fatalf("removing %q: %v", name, r.Err)
	}
}
