package task

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task/recurrence"
)

func TestAScheduleIsNoTask(t *testing.T) {
	s := put(t, everySpec(time.Minute))
	if s.ScheduleName() != "nightly" || s.Name != "@nightly" || s.Lane() != ScheduleLane(DefaultNamespace) || s.Key() != ScheduleKey(DefaultNamespace, "nightly") {
		t.Errorf("%+v", s)
	}
	if create(t).ScheduleName() != "" {
		t.Error("a task has a schedule's name")
	}
	for _, c := range []Change{Cancel{Key: s.Key()}, Run{Key: s.Key()}, Touch{Key: s.Key()}, Patch{Key: s.Key()}, Revive{Key: s.Key()}} {
		if _, err := c.Apply(sec(60), s, facts); !errors.Is(err, ErrNotFound) {
			t.Errorf("%T: %v", c, err)
		}
	}
	if _, err := (Claim{Key: s.Key(), Lane: s.Lane(), Token: "token", Until: sec(120)}).Apply(sec(60), s, facts); !errors.Is(err, ErrNotFound) {
		t.Errorf("claim: %v", err)
	}
}

// TestAPutOfTheSameRuleKeepsTheHistory: a change of other fields changes no
// instant.
func TestAPutOfTheSameRuleKeepsTheHistory(t *testing.T) {
	s := put(t, everySpec(7*time.Second))
	s, _, _ = run(t, s, sec(7), 0)
	again := putAt(t, sec(8), s, everySpec(7*time.Second, func(s *ScheduleSpec) {
		s.ID, s.Queue, s.Rule.Jitter, s.Rule.MaxRuns = "id-2", "other", time.Second, 3
	}))
	r := again.Recur
	if again.ID != s.ID || again.Version != 2 || again.CreatedAt != s.CreatedAt || r.Runs != 1 || r.Anchor != scheduleStart || r.Next != sec(14) || r.Queue != "other" {
		t.Errorf("%+v, %+v", again, r)
	}
	if _, at, _ := run(t, again, sec(14), 0); fmt.Sprint(at) != "[14]" {
		t.Errorf("fired %v", at)
	}
}

// TestAPutKeepsTheNumberOfRuns: a client reads a schedule before an instant and
// puts it back after the instant.
func TestAPutKeepsTheNumberOfRuns(t *testing.T) {
	three := rule(func(r *recurrence.Rule) { r.MaxRuns = 3 })
	s := put(t, everySpec(time.Minute, three))
	s, _, _ = run(t, s, sec(60), 0)
	read := s.Recur
	s, _, _ = run(t, s, sec(120), 0)
	asRead := func(s *ScheduleSpec) { s.Runs, s.Rule.Anchor = ptr(read.Runs), read.Anchor }
	for name, edit := range map[string]func(*recurrence.Rule){
		"the same rule": func(*recurrence.Rule) {},
		"another every": func(r *recurrence.Rule) { r.Every = time.Hour },
		"cron":          func(r *recurrence.Rule) { r.Every, r.Cron, r.Zone = 0, "* * * * *", "UTC" },
		"a start":       func(r *recurrence.Rule) { r.Start = sec(600) },
	} {
		got := putAt(t, sec(130), s, everySpec(time.Minute, three, asRead, rule(edit))).Recur
		if got.Runs != 2 {
			t.Errorf("%s: %d runs", name, got.Runs)
		}
	}
	hourly := putAt(t, sec(130), s, everySpec(time.Hour, three, asRead))
	if hourly.Recur.Anchor != sec(130) {
		t.Errorf("another every counts from %d, not from its PUT", hourly.Recur.Anchor-scheduleStart)
	}
	moved := putAt(t, sec(130), s, everySpec(time.Minute, three, rule(func(r *recurrence.Rule) { r.Anchor = sec(7) })))
	if moved.Recur.Anchor != scheduleStart || moved.Recur.Next != sec(180) {
		t.Errorf("another anchor: counts from %d, next %d", moved.Recur.Anchor-scheduleStart, moved.Recur.Next-scheduleStart)
	}
}

func TestAnotherRuleDoesNotMakeUpForMissedInstants(t *testing.T) {
	s := put(t, everySpec(time.Minute))
	s = putAt(t, sec(600), s, everySpec(7*time.Second, missed(recurrence.FireAll))) // ten were due and not fired
	if s.Recur.Next != sec(607) || s.Due != sec(607) || s.Recur.Runs != 0 {
		t.Errorf("next %d, due %d", s.Recur.Next-scheduleStart, s.Due-scheduleStart)
	}
	// The clock of another node is a little behind the clock of the node that
	// fired the schedule.
	s, _, _ = run(t, s, sec(607), 0)
	s = putAt(t, sec(607)-300, s, everySpec(0, rule(func(r *recurrence.Rule) { r.Cron, r.Zone = "* * * * * *", "UTC" })))
	if s.Recur.Next != sec(608) {
		t.Errorf("next %d", s.Recur.Next-scheduleStart)
	}
}

// TestAPutDoesNotEndAPause: a put keeps the pause unless the request itself
// changes it.
func TestAPutDoesNotEndAPause(t *testing.T) {
	paused := func(p *bool) func(*ScheduleSpec) { return func(s *ScheduleSpec) { s.Paused = p } }
	s := put(t, everySpec(time.Minute, paused(ptr(true))))
	for _, d := range []time.Duration{time.Minute, time.Second} {
		if s = putAt(t, sec(90), s, everySpec(d)); !s.Recur.Paused || s.Due != Never {
			t.Errorf("put: %+v", s.Recur)
		}
	}
	if s = checkAt(t, sec(95), s); s.Due != Never {
		t.Error("checked: it is due")
	}
	if s = putAt(t, sec(100), s, everySpec(time.Second, paused(ptr(false)))); s.Recur.Paused || s.Due != sec(101) {
		t.Errorf("resumed: due %d", s.Due-scheduleStart)
	}
	if s = putAt(t, sec(100), s, everySpec(time.Second, paused(ptr(true)))); !s.Recur.Paused || s.Due != Never {
		t.Error("paused again: it is due")
	}
}

// TestAPauseOrAnotherRuleGivesUpAWaitingInstant: a waiting instant is given up
// by a pause, by another rule, and by an overlap policy without waiting. It
// then counts as no run, and is reported as skipped.
func TestAPauseOrAnotherRuleGivesUpAWaitingInstant(t *testing.T) {
	waits := func() *Task {
		s := put(t, everySpec(time.Minute, overlap(recurrence.BufferOne), rule(func(r *recurrence.Rule) { r.MaxRuns = 2 })))
		s, _, _ = run(t, s, sec(60), 0)
		s, _, _ = run(t, s, sec(120), 1)
		if s.Recur.Waiting != sec(120) || s.Recur.Runs != 2 || s.Recur.Ended() {
			t.Fatalf("%+v", s.Recur)
		}
		return s
	}
	two := rule(func(r *recurrence.Rule) { r.MaxRuns = 2 })
	for name, s := range map[string]*Task{
		"pause": resumeAt(t, sec(130), pauseAt(t, sec(130), waits())),
		"put":   putAt(t, sec(130), waits(), everySpec(time.Minute, overlap(recurrence.SkipOverlap), two)),
		"other": putAt(t, sec(120), waits(), everySpec(time.Minute, rule(func(r *recurrence.Rule) { r.Start = sec(60) }), overlap(recurrence.BufferOne), two)),
	} {
		r := s.Recur
		if r.Waiting != 0 || r.Runs != 1 || r.Skipped != recurrence.NewSkip(sec(120), recurrence.SkippedOverlap) || s.Due != sec(180) {
			t.Errorf("%s: due %d, %+v", name, s.Due-scheduleStart, r)
		}
		if _, at, _ := run(t, s, sec(300), 0); fmt.Sprint(at) != "[300]" {
			t.Errorf("%s: then fired %v", name, at)
		}
	}
	if s := putAt(t, sec(130), waits(), everySpec(time.Minute, overlap(recurrence.BufferOne))); s.Recur.Waiting != sec(120) {
		t.Errorf("with the same rule: %+v", s.Recur)
	}
}

// TestARuleWithoutAFutureInstantIsRefused: a put is refused unless the
// schedule has the same rule already. A deployment that is repeated after the
// end is no mistake, and must not restart the schedule.
func TestARuleWithoutAFutureInstantIsRefused(t *testing.T) {
	until := func(end Millis) ScheduleSpec {
		return everySpec(time.Minute, rule(func(r *recurrence.Rule) { r.End = end }))
	}
	ended, _, _ := run(t, put(t, until(sec(60))), sec(60), 0)
	otherRule := until(sec(60))
	otherRule.Rule.Every = time.Second
	for name, c := range map[string]struct {
		old  *Task
		now  Millis
		spec ScheduleSpec
		ok   bool
	}{
		"an end at the first instant":     {nil, scheduleStart, until(sec(60)), true},
		"an end before the first instant": {nil, scheduleStart, until(sec(60) - 1), false},
		"the same end, later":             {ended, sec(90), until(sec(60)), true},
		"another end that has passed":     {ended, sec(90), until(sec(70)), false},
		"another rule that has ended":     {ended, sec(90), otherRule, false},
		"an end to come":                  {ended, sec(90), until(sec(120)), true},
	} {
		r, err := PutSchedule{Spec: c.spec}.Apply(c.now, c.old, facts)
		if !c.ok {
			if err := wantField(err, "end", "never_fires"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if again := c.old != nil && c.spec.Rule.End == sec(60); again != r.Task.Recur.Ended() || again && r.Task.Recur.Runs != 1 {
			t.Errorf("%s: %+v", name, r.Task.Recur)
		}
	}
}

func TestARemovedScheduleCountsAsMissing(t *testing.T) {
	s := put(t, everySpec(time.Minute))
	gone := apply(t, sec(10), s, RemoveSchedule{Key: s.Key()})
	if gone.State != Cancelled || gone.KeepUntil > sec(10) || gone.Request.BodySize != 0 {
		t.Errorf("%+v", gone)
	}
	for _, c := range []Change{RemoveSchedule{}, PauseSchedule{}, PauseSchedule{Resume: true}, CheckSchedule{}} {
		for _, old := range []*Task{gone, nil, create(t)} {
			if _, err := c.Apply(sec(20), old, facts); !errors.Is(err, ErrNotFound) {
				t.Errorf("%T: %v", c, err)
			}
		}
	}
	r, err := PutSchedule{Spec: everySpec(time.Minute, func(s *ScheduleSpec) { s.ID = "id-2" })}.Apply(sec(20), gone, facts)
	if err != nil || r.Effect != Created || r.Task.ID != "id-2" || r.Task.Version != 1 || r.Task.Due != sec(80) {
		t.Errorf("put again: %v, %+v", err, r)
	}
}

func TestSchedulesHonourPreconditions(t *testing.T) {
	s := put(t, everySpec(time.Minute))
	fresh, stale := Precondition{IfMatch: []string{s.ETag()}}, Precondition{IfMatch: []string{"id-1.7"}}
	for _, c := range []struct{ fresh, stale Change }{
		{PutSchedule{Spec: everySpec(time.Second), If: fresh}, PutSchedule{Spec: everySpec(time.Second), If: stale}},
		{PauseSchedule{Key: s.Key(), If: fresh}, PauseSchedule{Key: s.Key(), If: stale}},
		{RemoveSchedule{Key: s.Key(), If: fresh}, RemoveSchedule{Key: s.Key(), If: stale}},
	} {
		if _, err := c.stale.Apply(sec(1), s, facts); !errors.Is(err, ErrPrecondition) {
			t.Errorf("%T: %v", c.stale, err)
		}
		if _, err := c.fresh.Apply(sec(1), s, facts); err != nil {
			t.Errorf("%T: %v", c.fresh, err)
		}
	}
	fired, _, _ := run(t, s, sec(60), 0)
	if _, err := (PauseSchedule{Key: s.Key(), If: fresh}).Apply(sec(61), fired, facts); err != nil {
		t.Errorf("an instant has changed the version: %v", err)
	}
}

// TestACheckLeavesACorrectScheduleUnchanged: a check of a correct schedule
// writes nothing.
func TestACheckLeavesACorrectScheduleUnchanged(t *testing.T) {
	s := put(t, everySpec(time.Minute))
	fired, _, _ := run(t, s, sec(60), 0)
	waits, _, _ := run(t, put(t, everySpec(time.Minute, overlap(recurrence.BufferOne))), sec(60), 1)
	ended, _, _ := run(t, put(t, everySpec(time.Minute, rule(func(r *recurrence.Rule) { r.MaxRuns = 1 }))), sec(60), 0)
	for name, c := range map[string]struct {
		s   *Task
		now Millis
	}{
		"new": {s, sec(0)}, "fired": {fired, sec(61)}, "waiting": {waits, sec(60) + 500}, "ended": {ended, sec(7000)},
		"due": {fired, sec(600)}, "paused": {pauseAt(t, sec(61), fired), sec(70)},
		"a clock that is a little behind": {fired, sec(60) - 900}, "a clock that was set back and will find it fired": {fired, sec(30)},
	} {
		if r, err := (CheckSchedule{}).Apply(c.now, c.s, facts); err != nil || r.Effect != Repeated || r.Task != c.s {
			t.Errorf("%s: %v, effect %v", name, err, r.Effect)
		}
	}
}

// TestAnUnknownZoneIsAProblem: an unknown zone does not end the schedule.
// The schedule waits for the zone, and clients can still change it.
func TestAnUnknownZoneIsAProblem(t *testing.T) {
	daily := rule(func(r *recurrence.Rule) { r.Cron, r.Zone = "0 21 * * *", "UTC" })
	s := put(t, everySpec(0, daily))
	due := s.Due
	s = s.Clone()
	s.Recur.Zone = "Nowhere/Town"
	r, err := fireOnce(due, s, 0)
	if err != nil || r.Spawned != nil || r.Task.Due != due+60_000 || r.Task.Recur.Problem == "" || r.Task.Recur.Ended() {
		t.Fatalf("%v: %+v", err, r.Task.Recur)
	}
	s = r.Task
	if c := checkAt(t, due+1000, s); c != s {
		t.Errorf("checked: %+v", c)
	}
	if p := pauseAt(t, due+1000, s); p.Due != Never || p.Recur.Problem == "" {
		t.Errorf("paused: %+v", p.Recur)
	} else if p = resumeAt(t, due+2000, p); p.Due != due+62_000 {
		t.Errorf("resumed: due %d", p.Due-due)
	}
	s = s.Clone()
	s.Recur.Zone = "UTC" // it is known again
	if c := checkAt(t, due+1000, s); c.Recur.Problem != "" || c.Due != due {
		t.Errorf("known again: %+v", c.Recur)
	}
	if _, at, _ := run(t, s, due+60_000, 0); len(at) != 1 {
		t.Errorf("fired %v", at)
	}
}

// TestAnUnknownKindOfRuleIsAProblem: the problem stops its own
// schedule only, and others still fire.
func TestAnUnknownKindOfRuleIsAProblem(t *testing.T) {
	for _, every := range []time.Duration{0, -time.Second, time.Microsecond} {
		s := put(t, everySpec(5*time.Second))
		s.Recur.Every = every
		r, err := fireOnce(s.Due, s, 0)
		if err != nil || r.Spawned != nil || r.Task.Due != s.Due+60_000 || r.Task.Recur.Problem == "" {
			t.Errorf("every %v: %+v, error %v", every, r.Task.Recur, err)
		}
	}
}

// TestUnfinishedOccurrencesAreCounted: each row changes one task into another
// and expects the change of the schedule's count.
func TestUnfinishedOccurrencesAreCounted(t *testing.T) {
	of := func(name string, state State) *Task { return &Task{Namespace: "acme", Name: name, State: state} }
	for _, name := range []string{"nightly@1", "nightly@1.t3f", "nightly@1.b00c0ffee"} {
		for _, c := range []struct {
			old, t *Task
			want   int64
		}{
			{nil, of(name, Scheduled), 1},
			{of(name, Scheduled), of(name, Running), 0},
			{of(name, Running), of(name, Scheduled), 0},
			{of(name, Running), of(name, Dead), -1},
			{of(name, Dead), of(name, Scheduled), 1},
			{of(name, Running), of(name, Delivered), -1},
			{of(name, Scheduled), nil, -1},
			{of(name, Delivered), nil, 0},
		} {
			line, change := Unfinished(c.old, c.t)
			if change != c.want || change != 0 && line != (QueueKey{"acme", "@nightly"}) || change != 0 && !line.OfOccurrences() {
				t.Errorf("%s: %+v becomes %+v: %v %+d", name, c.old, c.t, line, change)
			}
		}
	}
	for _, name := range []string{"nightly", "@nightly", "nightly@dead.id-1.3", "nightly@1@dead.id-1.3"} {
		if line, change := Unfinished(nil, of(name, Scheduled)); change != 0 {
			t.Errorf("%s: %v %+d", name, line, change)
		}
	}
	for _, queue := range []string{"default", ScheduleQueue, ""} {
		if (QueueKey{"acme", queue}).OfOccurrences() {
			t.Errorf("the queue %q is taken for a schedule's line", queue)
		}
	}
}

func TestTheEndOfAnOccurrenceNotifiesItsSchedule(t *testing.T) {
	of := func(state State) *Task {
		return &Task{Namespace: "acme", Name: "nightly@1", State: state, NotifySchedule: true}
	}
	want := Entry{Name: "@nightly", Lane: ScheduleLane("acme"), Hint: OccurrenceEnded}
	for _, end := range []State{Delivered, Cancelled, Expired, Dead} {
		if e, ok := Notice(of(Running), of(end)); !ok || e != want {
			t.Errorf("%v: %+v, %v", end, e, ok)
		}
	}
	unawaited := of(Delivered)
	unawaited.NotifySchedule = false
	for _, c := range [][2]*Task{{nil, of(Delivered)}, {of(Running), nil}, {of(Running), of(Scheduled)}, {of(Dead), of(Cancelled)}, {of(Running), unawaited}} {
		if e, ok := Notice(c[0], c[1]); ok {
			t.Errorf("%+v", e)
		}
	}
}
