package task

import (
	"fmt"
	"testing"
	"time"
)

const scheduleStart Millis = 1_800_000_000_000

// every returns a schedule's spec that fires each d.
func everySpec(d time.Duration, edits ...func(*ScheduleSpec)) ScheduleSpec {
	s := ScheduleSpec{Spec: DefaultSpec(), Rule: Rule{Every: d, CatchupWindow: DefaultCatchupWindow, CatchupLimit: DefaultCatchupLimit}}
	s.Name, s.ID = "nightly", "id-1"
	s.Request.URL = "https://receiver.example/hook"
	s.Request.Body, s.Request.BodyKind = []byte("{}"), JSONBody
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

// put begins a schedule at scheduleStart.
func put(t *testing.T, s ScheduleSpec) *Task {
	t.Helper()
	if err := s.Validate(scheduleStart); err != nil {
		t.Fatal(err)
	}
	r, err := PutSchedule{Spec: s}.Apply(scheduleStart, nil, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Task
}

// run fires s at now until it is not due, and returns the instants of its occurrences, in
// seconds since scheduleStart.
func run(t *testing.T, s *Task, now Millis, unfinished int64) (_ *Task, at []int64, skipped []Skip) {
	t.Helper()
	for {
		r, err := Fire{Key: s.Key(), Unfinished: unfinished}.Apply(now, s, Policy{})
		if err != nil {
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
		if len(at) > 20_000 {
			t.Fatal("it does not end")
		}
	}
}

func sec(n int64) Millis { return scheduleStart + Millis(n*1000) }

func TestAScheduleFiresAtEachInstantOnce(t *testing.T) {
	s := put(t, everySpec(5*time.Second))
	var all []int64
	for now := scheduleStart; now <= sec(60); now += 100 {
		var at []int64
		if s, at, _ = run(t, s, now, 0); len(at) > 0 && at[0]*1000 != int64(now-scheduleStart) {
			t.Fatalf("fired %v at %d", at, now-scheduleStart)
		}
		all = append(all, at...)
	}
	if want := "[5 10 15 20 25 30 35 40 45 50 55 60]"; fmt.Sprint(all) != want {
		t.Errorf("got %v", all)
	}
	if len(s.Recur.Fired) != 1 || s.Recur.Runs != 12 {
		t.Errorf("fired %v, runs %d", s.Recur.Fired, s.Recur.Runs)
	}
}

func TestTwoWeeksDownMakeOneRunOrNoneOrTheLimit(t *testing.T) {
	const down = 14 * 24 * 3600
	for _, c := range []struct {
		misfire Misfire
		now     Millis
		want    int
	}{
		{FireOnce, sec(down + 3), 1}, {SkipMissed, sec(down + 3), 0}, {FireAll, sec(down + 3), 100},
		{FireOnce, sec(down), 1}, {SkipMissed, sec(down), 1}, {FireAll, sec(down), 100},
	} {
		s := put(t, everySpec(5*time.Second, func(s *ScheduleSpec) { s.Rule.Misfire = c.misfire }))
		s, at, skipped := run(t, s, c.now, 0)
		if len(at) != c.want || len(skipped) == 0 {
			t.Errorf("%v: %d runs, skipped %v", c.misfire, len(at), skipped)
		}
		if n := len(at); n > 0 && at[n-1] != down {
			t.Errorf("%v: the last run is of %d", c.misfire, at[n-1])
		}
		if s.Recur.Next != sec(down+5) {
			t.Errorf("%v: next at %d", c.misfire, s.Recur.Next-scheduleStart)
		}
	}
}

func TestAClockThatWasAheadFreezesAndRepeatsNothing(t *testing.T) {
	for _, misfire := range []Misfire{FireOnce, SkipMissed, FireAll} {
		s := put(t, everySpec(time.Minute, func(s *ScheduleSpec) { s.Rule.Misfire = misfire }))
		seen := map[int64]int{}
		walk := func(from, until int64) {
			for at := from; at <= until; at++ {
				var fired []int64
				s, fired, _ = run(t, s, sec(at), 0)
				for _, i := range fired {
					seen[i]++
				}
			}
		}
		walk(0, 600)
		walk(600+3600, 900+3600) // an hour ahead, for five minutes
		r, err := CheckSchedule{Key: s.Key()}.Apply(sec(900), s, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		s = r.Task
		walk(900, 3*3600)
		for at := int64(60); at <= 3*3600; at += 60 {
			if seen[at] > 1 || seen[at] == 0 && (at < 600 || at > 900) {
				t.Errorf("%v: instant %d fired %d times", misfire, at, seen[at])
			}
		}
	}
}

func TestOverlapsAreAllowedSkippedOrWaitOnce(t *testing.T) {
	for _, c := range []struct {
		overlap Overlap
		want    string
	}{{AllowOverlap, "[5 10 15]"}, {SkipOverlap, "[]"}, {BufferOne, "[]"}} {
		s := put(t, everySpec(5*time.Second, func(s *ScheduleSpec) { s.Rule.Overlap = c.overlap }))
		var all []int64
		for i := int64(1); i <= 16; i++ {
			var at []int64
			s, at, _ = run(t, s, sec(i), 1)
			all = append(all, at...)
		}
		if fmt.Sprint(all) != c.want {
			t.Errorf("%v: %v while one is unfinished", c.overlap, all)
		}
		s, at, _ := run(t, s, sec(17), 0)
		if want := map[Overlap]string{BufferOne: "[5]"}[c.overlap]; want != "" && fmt.Sprint(at) != want || want == "" && len(at) != 0 {
			t.Errorf("%v: %v when it has ended", c.overlap, at)
		}
		if s.Recur.Next != sec(20) {
			t.Errorf("%v: next %d", c.overlap, s.Recur.Next-scheduleStart)
		}
	}
}
