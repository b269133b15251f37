package recurrence

import (
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task/wallclock"
)

const start wallclock.Millis = 1_800_000_000_000

// sec returns the instant n seconds after start.
func sec(n int64) wallclock.Millis { return start + wallclock.Millis(n*1000) }

// everyMinute returns a rule with an instant each minute after start.
func everyMinute() Rule { return Rule{Every: time.Minute, Anchor: start} }

func TestCountAgreesWithInstants(t *testing.T) {
	minute := everyMinute()
	daily := Rule{Cron: "0 0 * * *", Zone: DefaultZone}
	for _, c := range []struct {
		rule        *Rule
		from, until wallclock.Millis
		limit, want int
	}{
		{&minute, sec(-600), sec(600), 100, 10}, // no instants before its start
		{&minute, sec(60), sec(60), 100, 1},
		{&minute, sec(61), sec(119), 100, 0},
		{&minute, sec(60), sec(6000), 7, 7},
		{&daily, sec(-10 * 86_400), sec(0), 100, 10},
	} {
		all, err := c.rule.Instants(c.from, c.until, c.limit)
		if err != nil || len(all) != c.want {
			t.Errorf("%d-%d: %v, error %v", c.from-start, c.until-start, all, err)
		}
		if len(all) > 0 {
			if n := c.rule.Count(Span{all[0], all[len(all)-1]}, c.limit); n != c.want {
				t.Errorf("%d-%d: %d are counted", c.from-start, c.until-start, n)
			}
		}
	}
}

func TestPoliciesRoundTrip(t *testing.T) {
	for m := FireOnce; m <= FireAll; m++ {
		if got, ok := ParseMissed(m.String()); !ok || got != m {
			t.Errorf("missed %d is %q, which is read as %d, %v", m, m, got, ok)
		}
	}
	for o := AllowOverlap; o <= BufferOne; o++ {
		if got, ok := ParseOverlap(o.String()); !ok || got != o {
			t.Errorf("overlap %d is %q, which is read as %d, %v", o, o, got, ok)
		}
	}
	for _, word := range []string{"", "Skip", "fire-once", "queue"} {
		if m, ok := ParseMissed(word); ok || m != 0 {
			t.Errorf("%q is read as %v", word, m)
		}
		if o, ok := ParseOverlap(word); ok || o != 0 {
			t.Errorf("%q is read as %v", word, o)
		}
	}
	if m, o := Missed(99).String(), Overlap(99).String(); m == "" || o == "" {
		t.Errorf("%q, %q", m, o)
	}
}

// No server could fire the instants 1 to 10, and one comes back 5 s after the
// last of them.
func TestAnAbsenceFiresAndSkipsByPolicy(t *testing.T) {
	minute := func(n int64) wallclock.Millis { return sec(60 * n) }
	absence := Span{minute(1), minute(10) + 5000}
	for _, c := range []struct {
		name    string
		change  func(*Rule)
		fired   []wallclock.Millis
		skipped []Skip
	}{
		{"fire_once", func(*Rule) {}, []wallclock.Millis{minute(10)}, []Skip{{Span{minute(1), minute(9)}, SkippedMissed}}},
		{"skip, the last within its grace", func(r *Rule) { r.Missed = SkipMissed }, []wallclock.Millis{minute(10)}, []Skip{{Span{minute(1), minute(9)}, SkippedMissed}}},
		{"skip, after the grace", func(r *Rule) { r.Missed, r.Every = SkipMissed, 10*time.Second }, []wallclock.Millis{}, []Skip{{Span{minute(1), minute(10)}, SkippedMissed}}},
		{"fire_all with a limit", func(r *Rule) { r.Missed, r.CatchupLimit = FireAll, 2 }, []wallclock.Millis{minute(9), minute(10)}, []Skip{{Span{minute(1), minute(8)}, SkippedLimit}}},
		{"fire_all with a window", func(r *Rule) { r.Missed, r.CatchupWindow = FireAll, 3*time.Minute }, []wallclock.Millis{minute(8), minute(9), minute(10)}, []Skip{{Span{minute(1), minute(7)}, SkippedWindow}}},
		{"max_runs", func(r *Rule) { r.Missed, r.MaxRuns = FireAll, 2 }, []wallclock.Millis{minute(1), minute(2)}, nil},
		{"before its start", func(r *Rule) { r.Start, r.Anchor = minute(11), minute(11) }, []wallclock.Millis{}, nil},
	} {
		rule := everyMinute()
		rule.CatchupWindow, rule.CatchupLimit = DefaultCatchupWindow, DefaultCatchupLimit
		c.change(&rule)
		fired, skipped, err := rule.CatchUp(absence)
		if err != nil || !slices.Equal(fired, c.fired) || !slices.Equal(skipped, c.skipped) {
			t.Errorf("%s: fired %v, skipped %v, error %v", c.name, fired, skipped, err)
		}
	}
	if _, _, err := (&Rule{Cron: "0 0 * * *", Zone: "Nowhere"}).CatchUp(absence); err == nil {
		t.Error("a rule without a zone has no error")
	}
}
