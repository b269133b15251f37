package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// scheduleCases: an instant makes its occurrence and moves its schedule on in one step.
var scheduleCases = []testCase{
	{
		"no instant is early",
		"Before its instant a schedule makes nothing, and says so.",
		func(f *fixture) {
			s := f.schedule("nightly", 5*time.Second)
			if r := f.fire(start+4999, s); !errors.Is(r.Err, task.ErrNotDue) || r.Spawned != nil {
				f.Errorf("%+v", r)
			}
			if r := f.fire(start+5000, &task.Task{Namespace: s.Namespace, Name: "@none"}); !errors.Is(r.Err, task.ErrNotFound) {
				f.Errorf("of none: %+v", r)
			}
		},
	},
	{
		"an instant with a name that is taken is skipped",
		"A task that has the name of the occurrence stays as it is, and the schedule goes on.",
		func(f *fixture) {
			s := f.schedule("nightly", 5*time.Second)
			taken := f.spec("taken", tasktest.Text("mine"))
			taken.Name = task.OccurrenceName("nightly", start+5000)
			f.must(start, task.Create{Spec: taken})
			if r := f.fire(start+5000, s); r.Err != nil || r.Task.Recur.Next != start+10_000 {
				f.Fatalf("%+v", r)
			}
			if got := f.load(taken.Key); string(got.Request.Body) != "mine" {
				f.Errorf("%+v", got)
			}
		},
	},
	{
		"an on_dead task is no occurrence",
		"Its name, like those of occurrences, is that of the task with an @. A schedule with the name of the task does not wait for it.",
		func(f *fixture) {
			s := f.schedule("job", 5*time.Second, func(s *task.ScheduleSpec) { s.Rule.Overlap = recurrence.SkipOverlap })
			dies := f.create("job", onDead)
			f.claim(start+1000, dies, "t")
			if dead := f.settle(start+1001, dies, "t", task.Outcome{Verdict: task.Refusal}); dead.State != task.Dead {
				f.Fatalf("%+v", dead)
			}
			if r := f.fire(start+5000, s); r.Spawned == nil || r.Task.Recur.Fired == nil {
				f.Errorf("%+v", r)
			}
		},
	},
	{
		"of many schedules at once no more pass than there is room",
		"The instants of one call count for those after them.",
		func(f *fixture) {
			var fires []task.Fire
			for i := range 20 {
				fires = append(fires, task.Fire{Key: f.schedule(fmt.Sprintf("s%02d", i), time.Second).Key()})
			}
			f.quota(settings.NamespaceSettings{MaxPending: 25})
			made := 0
			for _, r := range f.transit(start+1000, store.Fires(fires)) {
				if r.Spawned != nil {
					made++
				}
			}
			if made != 5 {
				f.Errorf("%d tasks were made, there was room for 5", made)
			}
		},
	},
}

// schedule makes a schedule in the queue "mail" with an instant at each
// multiple of every after start.
func (f *fixture) schedule(name string, every time.Duration, edits ...func(*task.ScheduleSpec)) *task.Task {
	f.Helper()
	return f.must(start, task.PutSchedule{Spec: f.scheduleSpec(name, every, edits...)})
}

func (f *fixture) scheduleSpec(name string, every time.Duration, edits ...func(*task.ScheduleSpec)) task.ScheduleSpec {
	f.Helper()
	s := task.ScheduleSpec{
		Spec: f.spec(name, queue("mail"), onDead),
		Rule: recurrence.Rule{Every: every, CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.DefaultCatchupLimit},
	}
	for _, edit := range edits {
		edit(&s)
	}
	if err := s.Validate(start); err != nil {
		f.Fatalf("the case itself is wrong: %v", err)
	}
	return s
}

func overlap(o recurrence.Overlap) func(*task.ScheduleSpec) {
	return func(s *task.ScheduleSpec) { s.Rule.Overlap = o }
}

// triggered returns the spec of an occurrence that was triggered by hand.
func (f *fixture) triggered(schedule string, at task.Millis) task.Spec {
	f.Helper()
	s := f.spec("x", queue("mail"))
	s.Name = task.OccurrenceName(schedule, at) + ".t1"
	return s
}

// fire fires a schedule.
func (f *fixture) fire(now task.Millis, s *task.Task) store.Reply {
	f.Helper()
	return f.transit(now, store.Fires([]task.Fire{{Key: s.Key()}}))[0]
}
