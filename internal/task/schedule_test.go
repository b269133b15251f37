package task

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task/recurrence"
)

const scheduleStart Millis = 1_800_000_000_000

// everySpec returns the spec of a schedule that fires each d.
func everySpec(d time.Duration, edits ...func(*ScheduleSpec)) ScheduleSpec {
	s := ScheduleSpec{Spec: DefaultSpec(), Rule: recurrence.Rule{Every: d, CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.DefaultCatchupLimit}}
	s.Name, s.ID = "nightly", "id-1"
	s.Request.URL = "https://receiver.example/hook"
	s.Request.Body, s.Request.BodyKind = []byte("{}"), JSONBody
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

// rule edits a spec's rule.
func rule(edit func(*recurrence.Rule)) func(*ScheduleSpec) {
	return func(s *ScheduleSpec) { edit(&s.Rule) }
}

func missed(m recurrence.Missed) func(*ScheduleSpec) {
	return rule(func(r *recurrence.Rule) { r.Missed = m })
}

func overlap(o recurrence.Overlap) func(*ScheduleSpec) {
	return rule(func(r *recurrence.Rule) { r.Overlap = o })
}

// put begins a schedule at scheduleStart.
func put(t *testing.T, s ScheduleSpec) *Task {
	t.Helper()
	return putAt(t, scheduleStart, nil, s)
}

// putAt replaces the schedule old.
func putAt(t *testing.T, now Millis, old *Task, s ScheduleSpec) *Task {
	t.Helper()
	fatal.If(t, s.Validate(now))
	return apply(t, now, old, PutSchedule{Spec: s})
}

func pauseAt(t *testing.T, now Millis, old *Task) *Task {
	t.Helper()
	return apply(t, now, old, PauseSchedule{Key: old.Key()})
}

func resumeAt(t *testing.T, now Millis, old *Task) *Task {
	t.Helper()
	return apply(t, now, old, PauseSchedule{Key: old.Key(), Resume: true})
}

func checkAt(t *testing.T, now Millis, old *Task) *Task {
	t.Helper()
	return apply(t, now, old, CheckSchedule{Key: old.Key()})
}

// fireOnce fires s once, as a store does: the body stays.
func fireOnce(now Millis, s *Task, unfinished int64) (Result, error) {
	r, err := Fire{Key: s.Key()}.Apply(now, s, Facts{Unfinished: unfinished})
	if err == nil {
		kept := *r.Task
		kept.Request.Body = s.Request.Body
		r.Task = &kept
	}
	return r, err
}

// run fires s at now until it is not due, and returns the instants of its occurrences, in
// seconds since scheduleStart.
func run(t *testing.T, s *Task, now Millis, unfinished int64) (_ *Task, at []int64, skipped []recurrence.Skip) {
	t.Helper()
	for len(at) <= recurrence.MaxCatchupLimit {
		r, err := fireOnce(now, s, unfinished)
		if err != nil {
			if !errors.Is(err, ErrNotDue) {
				t.Fatal(err)
			}
			return s, at, skipped
		}
		s = r.Task
		skipped = append(skipped, r.Skipped...)
		if r.Spawned != nil {
			_, instant, ok := OccurrenceOf(r.Spawned.Name)
			if !ok {
				t.Fatalf("the name %q", r.Spawned.Name)
			}
			at = append(at, int64(instant-scheduleStart)/1000)
		}
	}
	t.Fatal("it does not end")
	return nil, nil, nil
}

func sec(n int64) Millis { return scheduleStart + Millis(n*1000) }

// skippedSeconds returns the skipped instants, in seconds since scheduleStart.
func skippedSeconds(skipped []recurrence.Skip) (all []string) {
	for _, s := range skipped {
		all = append(all, fmt.Sprintf("%d-%d %s", (s.From-scheduleStart)/1000, (s.Until-scheduleStart)/1000, s.Why))
	}
	return all
}

// TestTheMissedPolicyBoundsTheRunsAfterTwoWeeksDown: no storm follows, and the
// skipped instants are reported.
func TestTheMissedPolicyBoundsTheRunsAfterTwoWeeksDown(t *testing.T) {
	const down, day = 14 * 24 * 3600, 24 * 3600
	window := fmt.Sprintf("5-%d catchup_window", down-day-5)
	for _, c := range []struct {
		name    string
		missed  recurrence.Missed
		late    int64
		runs    int
		skipped []string
	}{
		{"fire_once", recurrence.FireOnce, 3, 1, []string{"5-1123195 catchup_window", "1123200-1209595 missed"}},
		{"skip", recurrence.SkipMissed, 3, 0, []string{"5-1123195 catchup_window", "1123200-1209600 missed"}},
		{"fire_all", recurrence.FireAll, 3, 100, []string{"5-1123195 catchup_window", "1123200-1209100 catchup_limit"}},
		{"fire_once, back at an instant", recurrence.FireOnce, 0, 1, []string{window, "1123200-1209595 missed"}},
		{"skip, back at an instant: that one was not missed", recurrence.SkipMissed, 0, 1, []string{window, "1123200-1209595 missed"}},
		{"fire_all, back at an instant", recurrence.FireAll, 0, 100, []string{window, "1123200-1209100 catchup_limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.late > 0 {
				c.skipped[0] = "5-1123200 catchup_window"
				c.skipped[1] = "1123205" + c.skipped[1][7:]
			}
			s, at, skipped := run(t, put(t, everySpec(5*time.Second, missed(c.missed))), sec(down+c.late), 0)
			if n := len(at); n != c.runs || n > 0 && (at[n-1] != down || at[0] != down-5*int64(n-1)) {
				t.Errorf("runs of %v", at)
			}
			if fmt.Sprint(skippedSeconds(skipped)) != fmt.Sprint(c.skipped) {
				t.Errorf("skipped %v, want %v", skippedSeconds(skipped), c.skipped)
			}
			if s.Recur.Skipped != skipped[len(skipped)-1] || s.Recur.Next != sec(down+5) {
				t.Errorf("it says that it skipped %v, and the next is %d", s.Recur.Skipped, s.Recur.Next-scheduleStart)
			}
		})
	}
}

// TestMissedInstants: each row is a schedule with an interval of 60 s that was not
// fired for a while.
func TestMissedInstants(t *testing.T) {
	window := func(d time.Duration, m recurrence.Missed) []func(*ScheduleSpec) {
		return []func(*ScheduleSpec){missed(m), rule(func(r *recurrence.Rule) { r.CatchupWindow = d })}
	}
	limit := func(n int) []func(*ScheduleSpec) {
		return []func(*ScheduleSpec){missed(recurrence.FireAll), rule(func(r *recurrence.Rule) { r.CatchupLimit = n })}
	}
	for _, c := range []struct {
		name    string
		edits   []func(*ScheduleSpec)
		at      Millis
		fired   string
		skipped string
	}{
		{"one that is late within its grace was not missed", window(0, recurrence.SkipMissed), sec(60) + 6000, "[60]", "[]"},
		{"one that is later was", window(time.Hour, recurrence.SkipMissed), sec(60) + 6001, "[]", "[60-60 missed]"},
		{"the latest counts", window(time.Hour, recurrence.SkipMissed), sec(181), "[180]", "[60-120 missed]"},
		{"the window ends where it says", window(2*time.Minute, recurrence.FireAll), sec(210), "[120 180]", "[60-60 catchup_window]"},
		{"the latest of the window for all", window(2*time.Minute, recurrence.FireOnce), sec(240), "[240]", "[60-60 catchup_window 120-180 missed]"},
		{"nothing lies in the window", window(10*time.Second, recurrence.FireOnce), sec(200), "[]", "[60-180 catchup_window]"},
		{"no window skips what is in time", window(0, recurrence.FireOnce), sec(183), "[180]", "[60-120 catchup_window]"},
		{"the limit keeps the latest", limit(2), sec(310), "[240 300]", "[60-180 catchup_limit]"},
		{"a limit that is not reached", limit(5), sec(310), "[60 120 180 240 300]", "[]"},
		{"a limit of one", limit(1), sec(310), "[300]", "[60-240 catchup_limit]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, at, skipped := run(t, put(t, everySpec(time.Minute, c.edits...)), c.at, 0)
			if fmt.Sprint(at) != c.fired || fmt.Sprint(skippedSeconds(skipped)) != c.skipped {
				t.Errorf("fired %v, skipped %v, want %s and %s", at, skippedSeconds(skipped), c.fired, c.skipped)
			}
			if s.Recur.Next <= c.at {
				t.Errorf("next at %d", s.Recur.Next-scheduleStart)
			}
		})
	}
}

// TestAClockThatWasAheadStopsAndRepeatsNothing: this holds even if the fired
// instants need more spans than the maximum.
func TestAClockThatWasAheadStopsAndRepeatsNothing(t *testing.T) {
	for _, policy := range []recurrence.Missed{recurrence.FireOnce, recurrence.SkipMissed, recurrence.FireAll} {
		for _, every := range []int64{1, 2} { // each occurrence ends at once, or blocks the next
			s := put(t, everySpec(time.Minute, missed(policy), overlap(recurrence.SkipOverlap)))
			seen := map[int64]int{}
			walk := func(from, until int64) {
				for at := from; at <= until; at++ {
					var fired []int64
					s, fired, _ = run(t, s, sec(at), at/60%every)
					for _, i := range fired {
						seen[i]++
					}
				}
			}
			walk(0, 6000)
			walk(6000+3600, 6300+3600) // an hour ahead, for five minutes
			s = checkAt(t, sec(6300), s)
			walk(6300, 20_000)
			for at := 60 * every; at <= 20_000; at += 60 * every {
				if seen[at] > 1 || seen[at] == 0 && (at < 6000 || at > 6300) {
					t.Errorf("%v, every %d: instant %d fired %d times", policy, every, at, seen[at])
				}
			}
		}
	}
}

func TestAnOccurrenceInheritsTheFieldsOfItsSchedule(t *testing.T) {
	spec := everySpec(time.Minute, overlap(recurrence.BufferOne), func(s *ScheduleSpec) {
		s.Queue, s.Priority, s.Labels = "reports", High, map[string]string{"k": "v"}
		s.Request.Headers, s.Timeout, s.ExpireAfter = map[string]string{"X": "y"}, time.Second, time.Hour
		s.Retry.MaxAttempts, s.OnDead = 3, "https://receiver.example/dead"
	})
	at := sec(60)
	r, err := fireOnce(at+7, put(t, spec), 0)
	fatal.If(t, err)
	want := spec.Spec
	want.Name, want.ID = OccurrenceName("nightly", at), r.Spawned.ID
	want.When, want.NotifySchedule, want.Request.Destination = When{At: at}, true, "receiver.example:443"
	if d := diff(want.begin(at+7), r.Spawned); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	spec.Request = Request{Kind: "report"}
	if r, err := fireOnce(at, put(t, spec), 0); err != nil || r.Spawned.Request.Destination != "kind/report" {
		t.Errorf("an occurrence of a kind: %+v, %v", r.Spawned, err)
	}
}

// A schedule that was taken back by a failover or a backup makes the same
// occurrence again, and receivers must recognise it. They must not mistake an
// occurrence of another schedule of that name, or of another installation, for
// it.
func TestAnOccurrencesIDFollowsFromItsScheduleAndInstant(t *testing.T) {
	seen := map[string]int{}
	made := func(id string, created Millis, at, now Millis) {
		t.Helper()
		s := put(t, everySpec(time.Minute, func(s *ScheduleSpec) { s.ID = id }))
		s.CreatedAt = created
		r, err := fireOnce(now, s, 0)
		if err != nil || r.Spawned == nil || r.Spawned.Name != OccurrenceName("nightly", at) {
			t.Fatalf("%+v, %v", r.Spawned, err)
		}
		seen[r.Spawned.ID]++
	}
	made("one", t0, sec(60), sec(60))
	made("one", t0, sec(60), sec(60)+9)
	made("two", t0, sec(60), sec(60))
	made("one", t0+1, sec(60), sec(60))
	made("one", t0, sec(120), sec(120))
	if len(seen) != 4 {
		t.Errorf("%d different ids of 4: %v", len(seen), seen)
	}
}

func TestJitterIsStableAndBelowItsBound(t *testing.T) {
	spec := func(id string) ScheduleSpec {
		return everySpec(time.Minute, rule(func(r *recurrence.Rule) { r.Jitter = time.Minute }), func(s *ScheduleSpec) { s.ID = id })
	}
	a, b := put(t, spec("a")), put(t, spec("b"))
	seen, sum := map[time.Duration]bool{}, time.Duration(0)
	for at := sec(0); at < sec(60_000); at += 60_000 {
		d := a.jitter(at)
		if d < 0 || d >= time.Minute || d != a.jitter(at) {
			t.Fatalf("%v, then %v", d, a.jitter(at))
		}
		if d == b.jitter(at) && a.jitter(at+60_000) == b.jitter(at+60_000) {
			t.Errorf("two schedules have the same")
		}
		seen[d], sum = true, sum+d
	}
	if mean := sum / 1000; len(seen) < 900 || mean < 25*time.Second || mean > 35*time.Second {
		t.Errorf("%d values, mean %v", len(seen), mean)
	}
}

func TestFireRefusesRecordsThatAreNoSchedules(t *testing.T) {
	s := put(t, everySpec(time.Minute))
	removed := apply(t, sec(1), s, RemoveSchedule{Key: s.Key()})
	for name, old := range map[string]*Task{"nothing": nil, "a task": create(t), "one that was removed": removed} {
		if _, err := (Fire{}).Apply(sec(1e6), old, Facts{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fireOnce(sec(60)-1, s, 0); !errors.Is(err, ErrNotDue) {
		t.Errorf("early: %v", err)
	}
}

func TestAnInstantBeyondTheQuotaIsSkipped(t *testing.T) {
	for _, q := range []Quota{{MaxPending: 3}, {MaxBytes: 1}} {
		s := put(t, everySpec(time.Second))
		q.Have.Move(nil, s)
		for i := range 4 {
			now := s.Due
			r, err := Fire{Key: s.Key()}.Apply(now, s, Facts{Quota: q})
			fatal.If(t, err)
			skip, full := recurrence.NewSkip(now, recurrence.SkippedQuota), q.MaxBytes > 0 || i >= 2
			if full != (r.Spawned == nil) || full && (len(r.Skipped) != 1 || r.Skipped[0] != skip || r.Task.Recur.Skipped != skip) || r.Task.Due != now+1000 {
				t.Errorf("%+v, instant %d: %+v", q, i, r)
			}
			if r.Spawned != nil {
				q.Have.Move(nil, r.Spawned)
			}
			s = r.Task
		}
		if _, err := (Fire{Key: s.Key()}).Apply(s.Due, s, Facts{Quota: Quota{Suspended: true}}); !errors.Is(err, ErrNotDue) {
			t.Errorf("while the namespace is suspended: %v", err)
		}
	}
}
