package storetest

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// purgeCases: the mark of a purge decides which tasks it cancels.
var purgeCases = []testCase{
	{
		"a purge cancels what entered the queue before its mark",
		"A task enters its queue when it is created, replaced, moved there, retried, or begun by a schedule or a death. All other changes leave it in the purge.",
		func(f *fixture) {
			mark := start.Add(settings.PurgeSkew)
			q := "q"
			f.create("before", queue(q))
			f.must(mark-1, task.Create{Spec: f.spec("ahead", queue(q))}) // by a clock that is ahead
			f.create("changed", queue(q))
			f.create("replaced", queue(q))
			f.create("moved")
			dead := f.create("retried", queue(q), at(start))
			dying := f.create("dying", at(start), onDead)
			nightly := f.schedule("nightly", time.Second, func(s *task.ScheduleSpec) { s.Queue = q })
			for _, t := range []*task.Task{dead, dying} {
				f.claim(start, t, "token")
			}
			f.settle(start, dead, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			for _, name := range []string{q, task.DeadQueue} {
				f.edit(settings.PurgeQueue{Namespace: task.DefaultNamespace, Name: name})
			}

			f.must(mark, task.Create{Spec: f.spec("after", queue(q))})
			f.must(mark, task.Patch{Key: tasktest.Key("changed"), Queue: &q, Labels: map[string]*string{"k": &q}})
			f.must(mark, task.Replace{Spec: f.spec("replaced", queue(q))})
			f.must(mark, task.Patch{Key: tasktest.Key("moved"), Queue: &q})
			f.must(mark, task.Revive{Key: tasktest.Key("retried")})
			if r := f.fire(mark, nightly); r.Err != nil || r.Spawned == nil {
				f.Fatalf("fire: spawned %v, error %v", r.Spawned, r.Err)
			}
			if r := f.trySettle(mark, dying, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"}); r.Err != nil || r.Spawned == nil {
				f.Fatalf("settle: spawned %v, error %v", r.Spawned, r.Err)
			}
			f.wantNames("doomed", f.doomed(q), "ahead", "before", "changed")
			f.wantNames("doomed death notices", f.doomed(task.DeadQueue))
		},
	},
	{
		"the end of a purge does not end a later one",
		"Each purge has a mark of its own, also in one millisecond and after the clock was set back.",
		func(f *fixture) {
			purge := settings.PurgeQueue{Namespace: task.DefaultNamespace, Name: "q"}
			f.edit(purge)
			first := f.store.Standing().Settings.Queue(task.DefaultNamespace, "q").PurgeBefore
			f.editAt(start-3_600_000, purge)
			second := f.store.Standing().Settings.Queue(task.DefaultNamespace, "q").PurgeBefore
			f.edit(settings.EndPurge{Namespace: purge.Namespace, Name: "q", Before: first})
			if got := f.store.Standing().Settings.Queue(task.DefaultNamespace, "q").PurgeBefore; got != second || second <= first {
				f.Errorf("the marks are %d and %d, and the first purge ended: the mark is %d", first, second, got)
			}
		},
	},
}

// doomed returns the names of the tasks that the purge of a queue cancels.
func (f *fixture) doomed(queue string) []string {
	f.Helper()
	return names(f.list(f.store.Standing().Settings.Queue(task.DefaultNamespace, queue).Doomed(), task.Page{Limit: 100}))
}
