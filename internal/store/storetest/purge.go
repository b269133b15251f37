package storetest

import (
	"errors"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// purgeCases: the order of changes decides which tasks a purge cancels, never a clock.
var purgeCases = []testCase{
	{
		"a purge ends at its reply, at any time on the clock",
		"A purge cancels the tasks that were in the queue at its edit. A task that comes into the queue after the reply stays, also if its clock is behind the purge's.",
		func(f *fixture) {
			f.create("before", queue("q"))
			f.must(start+3_600_000, task.Create{Spec: f.spec("before-ahead", queue("q"))}) // by a clock that was ahead
			f.create("replaced", queue("q"))
			f.create("moved")
			s := f.schedule("nightly", time.Second, func(s *task.ScheduleSpec) { s.Queue = "q" })
			f.edit(purgeOf("q", "purge-1"))

			early, q := start.Add(-500*time.Millisecond), "q"
			f.must(early, task.Create{Spec: f.spec("after", queue("q"))})
			f.must(early, task.Replace{Spec: f.spec("replaced", queue("q"))})
			f.must(early, task.Patch{Key: key("moved"), Queue: &q})
			if r := f.fire(start+1000, s); r.Err != nil || r.Spawned == nil {
				f.Fatalf("fire: spawned %v, error %v", r.Spawned, r.Err)
			}
			f.wantNames("doomed", f.doomed("q"), "before", "before-ahead")
			f.purgeOne("before", nil)
			f.purgeOne("before-ahead", nil)
			for _, name := range []string{"after", "replaced", "moved", task.OccurrenceName("nightly", start+1000)} {
				f.purgeOne(name, task.ErrPrecondition)
			}
			f.wantNames("doomed when it is done", f.doomed("q"))
		},
	},
	{
		"a purge cancels the tasks that an earlier one has spared",
		"The mark of a purge spares a task from that purge alone; a change of the task keeps the mark.",
		func(f *fixture) {
			f.edit(purgeOf("q", "purge-1"))
			f.create("a", queue("q"))
			f.must(start, task.Patch{Key: key("a"), Labels: map[string]*string{"k": new(string)}})
			f.claim(start+1000, f.get("a"), "token")
			f.settle(start+1000, f.get("a"), "token", task.Outcome{Verdict: task.Failure})
			f.wantNames("doomed by the first", f.doomed("q"))
			first := f.store.Settings().Queue(task.DefaultNamespace, "q")
			f.edit(purgeOf("q", "purge-2"))
			f.wantNames("doomed by the second", f.doomed("q"), "a")
			for _, r := range f.edits(settings.EndPurge{Namespace: first.Namespace, Name: first.Name, Before: first.PurgeBefore, ID: first.PurgeID}) {
				if r.Err != nil || len(r.Changes) > 0 {
					f.Errorf("the end of the first ended the second: %+v, error %v", r.Changes, r.Err)
				}
			}
			second := f.store.Settings().Queue(task.DefaultNamespace, "q")
			f.edit(settings.EndPurge{Namespace: second.Namespace, Name: second.Name, Before: second.PurgeBefore, ID: second.PurgeID})
			f.create("b", queue("q"))
			f.edit(purgeOf("q", "purge-3"))
			f.wantNames("doomed by the third", f.doomed("q"), "a", "b")
		},
	},
	{
		"a death notice is spared too",
		"The on_dead task that a settlement begins comes into its queue with the settlement.",
		func(f *fixture) {
			made := f.create("a", at(start), onDead)
			f.edit(purgeOf(task.DeadQueue, "purge-1"))
			f.claim(start, made, "token")
			if r := f.trySettle(start, made, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"}); r.Err != nil || r.Spawned == nil {
				f.Fatalf("spawned %v, error %v", r.Spawned, r.Err)
			}
			f.wantNames("doomed", f.doomed(task.DeadQueue))
		},
	},
}

func purgeOf(queue, id string) settings.PurgeQueue {
	return settings.PurgeQueue{Namespace: task.DefaultNamespace, Name: queue, ID: id}
}

// doomed returns the names of the tasks that the purge of a queue cancels.
func (f *fixture) doomed(queue string) []string {
	f.Helper()
	return names(f.list(f.store.Settings().Queue(task.DefaultNamespace, queue).Doomed(), task.Page{Limit: 100}))
}

// purgeOne cancels a task of the queue q as a purge does.
func (f *fixture) purgeOne(name string, want error) {
	f.Helper()
	only := f.store.Settings().Queue(task.DefaultNamespace, "q").Doomed()
	if r := f.apply(start, task.Cancel{Key: key(name), Only: &only, Reason: task.ReasonPurged}); !errors.Is(r.Err, want) {
		f.Errorf("purge of %q: error %v, want %v", name, r.Err, want)
	}
}
