package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/tasktest"
)

// scheduleCases: an instant makes its occurrence and moves its schedule on in one step.
var scheduleCases = []testCase{
	{
		"an instant makes one task, in the step in which its schedule goes on",
		"Fire creates the occurrence, with the schedule's body, and moves the schedule to its next instant; again it is not due.",
		func(f *fixture) {
			w := f.watch()
			s := f.schedule("nightly", 5*time.Second)
			w.await(s.Entry())
			f.wantNames("the lane", waiting(f.peek(task.ScheduleLane(task.DefaultNamespace), start+5000)), "@nightly")
			r := f.fire(start+5000, s)
			if r.Err != nil || r.Spawned == nil || r.Task.Recur.Next != start+10_000 || r.Task.Due != start+10_000 {
				f.Fatalf("task %+v, spawned %+v, error %v", r.Task, r.Spawned, r.Err)
			}
			got := f.get(task.OccurrenceName("nightly", start+5000))
			if got.State != task.Scheduled || got.Due != start+5000 || string(got.Request.Body) != "body of nightly" || got.Queue != "mail" {
				f.Errorf("the occurrence: %+v", got)
			}
			w.await(got.Entry())
			f.wantNames("its lane", waiting(f.peek(got.Lane(), start+5000)), got.Name)
			if again := f.fire(start+5000, s); !errors.Is(again.Err, task.ErrNotDue) {
				f.Errorf("fired again: %+v", again)
			}
			if kept := f.load(s.Key()); kept.Recur.Runs != 1 || string(kept.Request.Body) != "body of nightly" {
				f.Errorf("the schedule: %+v", kept)
			}
		},
	},
	{
		"no instant is early",
		"Before its instant a schedule makes nothing, and says so.",
		func(f *fixture) {
			s := f.schedule("nightly", 5*time.Second)
			if r := f.fire(start+4999, s); !errors.Is(r.Err, task.ErrNotDue) || r.Spawned != nil {
				f.Errorf("%+v", r)
			}
			if r := f.fire(start+5000, f.unborn("none")); !errors.Is(r.Err, task.ErrNotFound) {
				f.Errorf("of none: %+v", r)
			}
		},
	},
	{
		"a paused or removed schedule makes no tasks",
		"A pause stops the instants and survives a restart. Existing occurrences go on. A removed schedule is gone, and its name is free.",
		func(f *fixture) {
			s := f.schedule("nightly", 5*time.Second)
			f.fire(start+5000, s)
			f.must(start+6000, task.PauseSchedule{Key: s.Key()})
			if r := f.fire(start+60_000, s); !errors.Is(r.Err, task.ErrNotDue) {
				f.Errorf("paused: %+v", r)
			}
			if got := f.must(start+61_000, task.PauseSchedule{Key: s.Key(), Resume: true}); got.Due != start+65_000 {
				f.Errorf("resumed: due %d", got.Due-start)
			}
			f.must(start+62_000, task.RemoveSchedule{Key: s.Key()})
			if r := f.fire(start+70_000, s); !errors.Is(r.Err, task.ErrNotFound) {
				f.Errorf("removed: %+v", r)
			}
			f.wantNames("occurrences", names(f.list(ns(), task.Page{Limit: 9})), task.OccurrenceName("nightly", start+5000))
			f.sweep(start+62_000, 1)
			f.schedule("nightly", time.Minute)
		},
	},
	{
		"an instant whose name is taken is skipped",
		"Where a task has the occurrence's name it stays as it is, and the schedule goes on.",
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
		"an overlap counts any unfinished occurrence",
		"A waiting, a running and a failed occurrence, and one that was triggered, hold the next back; one that ended, or died, does not; its death's news does not either.",
		func(f *fixture) {
			s := f.schedule("nightly", 5*time.Second, overlap(recurrence.SkipOverlap))
			fired := func(now task.Millis) bool { return f.fire(now, s).Spawned != nil }
			if !fired(start + 5000) {
				f.Fatal("the first")
			}
			first := f.get(task.OccurrenceName("nightly", start+5000))
			if fired(start + 10_000) {
				f.Error("one waits")
			}
			f.claim(start+10_000, first, "token")
			if fired(start + 15_000) {
				f.Error("one runs")
			}
			failed := f.settle(start+15_000, first, "token", task.Outcome{Verdict: task.Failure})
			if fired(start + 20_000) {
				f.Error("one waits for a retry")
			}
			f.claim(start+20_000, failed, "token")
			f.settle(start+20_000, failed, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			if !fired(start + 25_000) {
				f.Error("it is dead, and its death notice is no occurrence")
			}
			f.must(start+25_000, task.Cancel{Key: tasktest.Key(task.OccurrenceName("nightly", start+25_000))})
			f.must(start+25_000, task.Create{Spec: f.triggered("nightly", start+26_000)})
			if fired(start + 30_000) {
				f.Error("one was triggered")
			}
			f.must(start+30_000, task.Cancel{Key: tasktest.Key(task.OccurrenceName("nightly", start+26_000) + ".t1")})
			if !fired(start + 35_000) {
				f.Error("all have ended")
			}
			f.must(start+35_000, task.Revive{Key: first.Key()})
			f.must(start+35_000, task.Cancel{Key: tasktest.Key(task.OccurrenceName("nightly", start+35_000))})
			if fired(start + 40_000) {
				f.Error("a dead one was revived")
			}
		},
	},
	{
		"one occurrence waits for the end of the one before",
		"With buffer_one the end of an occurrence is reported, and the waiting one begins. Of several only the first waits.",
		func(f *fixture) {
			w := f.watch()
			s := f.schedule("nightly", 5*time.Second, overlap(recurrence.BufferOne))
			f.fire(start+5000, s)
			for now := start + 10_000; now < start+25_000; now += 5000 {
				if r := f.fire(now, s); r.Err != nil || r.Spawned != nil {
					f.Fatalf("at %d: %+v", now-start, r)
				}
			}
			first := f.get(task.OccurrenceName("nightly", start+5000))
			f.claim(start+22_000, first, "token")
			f.settle(start+22_500, first, "token", task.Outcome{Verdict: task.Success})
			w.await(task.Entry{Name: "@nightly", Lane: task.ScheduleLane(task.DefaultNamespace), Hint: task.OccurrenceEnded})
			r := f.fire(start+22_500, s)
			if r.Err != nil || r.Spawned == nil || r.Spawned.Name != task.OccurrenceName("nightly", start+10_000) {
				f.Errorf("when it has ended: %+v", r)
			}
			if r := f.fire(start+22_500, s); !errors.Is(r.Err, task.ErrNotDue) {
				f.Errorf("again: %+v", r)
			}
		},
	},
	{
		"schedules are listed when they are asked for",
		"No list of tasks shows a schedule, with any filter. The queue of schedules shows them, between bounds of names. Counts return their number.",
		func(f *fixture) {
			f.schedule("b", time.Minute)
			f.schedule("a", time.Minute, func(s *task.ScheduleSpec) { s.Labels = map[string]string{"k": "v"} })
			f.create("A", labels(map[string]string{"k": "v"}))
			f.create("0")
			f.wantNames("tasks", names(f.list(ns(), task.Page{Limit: 1})), "0", "A")
			f.wantNames("by label", names(f.list(task.Filter{Namespace: task.DefaultNamespace, Labels: map[string]string{"k": "v"}}, task.Page{Limit: 1})), "A")
			schedules := task.Filter{Namespace: task.DefaultNamespace, Queue: task.ScheduleQueue}
			f.wantNames("schedules", names(f.list(schedules, task.Page{Limit: 1, Before: task.FirstTaskName})), "@a", "@b")
			f.wantNames("bounded", names(f.list(ns(), task.Page{Limit: 9, Before: "@"})), "0")
			counts, err := f.store.Counts(f.Context())
			if n := counts[task.QueueKey{Namespace: task.DefaultNamespace, Queue: task.ScheduleQueue}]; err != nil || n.States[task.Scheduled] != 2 || len(counts) != 2 {
				f.Errorf("counts %+v, error %v", counts, err)
			}
		},
	},
	{
		"a schedule passes no quota",
		"An instant that finds its namespace at a quota, of tasks or bytes, makes no task: it is skipped with that reason, and the schedule goes on.",
		func(f *fixture) {
			for i, n := range []settings.NamespaceSettings{{MaxPending: 3}, {MaxBytes: 1}} {
				name := fmt.Sprintf("s%d", i)
				f.quota(settings.NamespaceSettings{})
				s := f.schedule(name, 5*time.Second, func(s *task.ScheduleSpec) {
					s.Request.Body = []byte("two")
					s.Request.BodyKind, s.Request.BodySize = task.TextBody, 3
				})
				if i == 0 {
					n.MaxPending = 1 // the schedule and two of its tasks
					f.quota(n)
					f.wantFull(task.PutSchedule{Spec: f.scheduleSpec("another", 5*time.Second)}, task.QuotaPending)
					f.must(start, task.PutSchedule{Spec: f.scheduleSpec(name, 5*time.Second)})
					n.MaxPending = 3
				}
				f.quota(n)
				var made []bool
				for now := start + 5000; now <= start+20_000; now += 5000 {
					r := f.fire(now, s)
					made = append(made, r.Spawned != nil)
					skipped := len(r.Skipped) == 1 && r.Skipped[0] == recurrence.Skip{Span: recurrence.Span{From: now, Until: now}, Why: recurrence.SkippedQuota}
					if r.Err != nil || skipped == (r.Spawned != nil) || r.Task.Due != now+5000 {
						f.Errorf("%s at %d: %+v", name, now-start, r)
					}
					if skipped && r.Task.Recur.Skipped != r.Skipped[0] {
						f.Errorf("%s at %d: the schedule does not record the skipped instants: %+v", name, now-start, r.Task.Recur)
					}
				}
				if want := []bool{i == 0, i == 0, false, false}; !slices.Equal(made, want) {
					f.Errorf("%s: instants made tasks: %v, want %v", name, made, want)
				}
				for _, t := range f.list(ns(), task.Page{Limit: 9}) {
					if !t.IsSchedule() && t.State == task.Scheduled {
						f.must(start+20_000, task.Cancel{Key: t.Key()})
					}
				}
				f.quota(settings.NamespaceSettings{})
				if r := f.fire(start+25_000, s); r.Spawned == nil { // the quota has room again
					f.Errorf("%s: %+v", name, r)
				}
				f.must(start+25_000, task.RemoveSchedule{Key: s.Key()})
				f.must(start+25_000, task.Cancel{Key: tasktest.Key(task.OccurrenceName(name, start+25_000))})
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
			replies, err := f.store.Transit(f.Context(), start+1000, store.Fires(fires))
			fatal.If(f, err)
			made := 0
			for _, r := range replies {
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

// unborn returns the placeholder for a missing schedule.
func (f *fixture) unborn(name string) *task.Task {
	k := task.ScheduleKey(task.DefaultNamespace, name)
	return &task.Task{Namespace: k.Namespace, Name: k.Name}
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
	replies, err := f.store.Transit(f.Context(), now, store.Fires([]task.Fire{{Key: s.Key()}}))
	if err != nil || len(replies) != 1 {
		f.Fatalf("Fire %q: %d replies, error %v", s.Name, len(replies), err)
	}
	return replies[0]
}
