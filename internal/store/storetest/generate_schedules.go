package storetest

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

func (g *generator) scheduleChange() task.Change {
	key := g.schedule()
	switch g.IntN(10) {
	case 0:
		return task.RemoveSchedule{Key: key, If: g.precondition()}
	case 1, 2:
		return task.PauseSchedule{Key: key, If: g.precondition(), Resume: g.IntN(2) == 0}
	case 3:
		return task.CheckSchedule{Key: key}
	}
	return task.PutSchedule{Spec: g.scheduleSpec(), If: g.precondition()}
}

// schedule returns the key of a schedule, mostly of an existing one.
func (g *generator) schedule() task.Key {
	for range 10 {
		if t := g.record(task.Scheduled); t != nil && t.IsSchedule() {
			return t.Key()
		}
	}
	return task.ScheduleKey(g.oneOf(universe.namespaces), g.oneOf(universe.names))
}

func (g *generator) fire() task.Fire { return task.Fire{Key: g.schedule()} }

func (g *generator) scheduleSpec() task.ScheduleSpec {
	s := task.ScheduleSpec{Spec: g.spec()}
	s.Key = task.Key{Namespace: g.oneOf(universe.namespaces), Name: g.oneOf(universe.names)}
	s.Rule = recurrence.Rule{
		Missed: recurrence.Missed(g.IntN(3)), Overlap: recurrence.Overlap(g.IntN(3)), MaxRuns: int64(g.IntN(8)) / 7 * 3,
		CatchupWindow: g.duration(time.Minute, time.Second, time.Hour), CatchupLimit: 1 + g.IntN(4),
		Jitter: g.duration(0, 0, 300*time.Millisecond),
	}
	if g.IntN(3) == 0 {
		s.Rule.Cron, s.Rule.Zone = g.oneOf([]string{"* * * * * *", "*/2 * * * *"}), g.oneOf([]string{"UTC", "Europe/Berlin"})
	} else {
		s.Rule.Every = g.duration(time.Second, 1300*time.Millisecond, 10*time.Second)
	}
	if s.Rule.Cron == "" && g.IntN(6) == 0 {
		s.Rule.Anchor = g.now - task.Millis(g.IntN(4000))
	} else if g.IntN(6) == 0 {
		s.Rule.Start = g.now + task.Millis(g.IntN(4000)-2000)
	}
	if g.IntN(6) == 0 {
		s.Rule.End = max(g.now, s.Rule.Start) + 20_000
	}
	if g.IntN(8) == 0 {
		runs := int64(g.IntN(3))
		s.Runs = &runs
	}
	if g.IntN(4) == 0 {
		paused := g.IntN(2) == 0
		s.Paused = &paused
	}
	if err := s.Validate(g.now); err != nil && s.Rule.End == 0 {
		panic(fmt.Sprintf("storetest: generated schedule: %v", err))
	}
	return s
}
