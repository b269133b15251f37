package cron

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func berlin(t testing.TB, text string) Rule {
	return Rule{Expr: mustParse(t, text), Zone: mustZone(t, "Europe/Berlin")}
}

func local(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(layout, text)
	fatal.If(t, err)
	return at
}

// civilOf is the time on a clock, read as if it were UTC.
func civilOf(year, month, day, hour, minute int) Civil {
	return Civil(time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC).Unix())
}

func TestNextIsStrictlyAfterAndPrevStrictlyBefore(t *testing.T) {
	r := berlin(t, "0 21 * * *")
	nine := local(t, "2026-11-22 21:00:00 +01:00")
	for _, row := range []struct {
		at         time.Time
		next, prev time.Time
	}{
		{nine, nine.AddDate(0, 0, 1), nine.AddDate(0, 0, -1)},
		{nine.Add(-1), nine, nine.AddDate(0, 0, -1)},
		{nine.Add(1), nine.AddDate(0, 0, 1), nine},
		{nine.Add(time.Second), nine.AddDate(0, 0, 1), nine},
	} {
		if next, ok := r.Next(row.at); !ok || !next.Equal(row.next) {
			t.Errorf("after %v: %v", row.at, next)
		}
		if prev, ok := r.Prev(row.at); !ok || !prev.Equal(row.prev) {
			t.Errorf("before %v: %v", row.at, prev)
		}
	}
}

func TestRulesWorkFrom1970To2400(t *testing.T) {
	r := Rule{Expr: mustParse(t, "@daily")}
	first, last := time.Unix(0, 0).UTC(), time.Date(2399, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, early := range []time.Time{{}, time.Unix(-1, 0), time.Unix(0, -1), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if next, ok := r.Next(early); !ok || !next.Equal(first) {
			t.Errorf("after %v: %v %v", early, next, ok)
		}
		if prev, ok := r.Prev(early); ok {
			t.Errorf("before %v: %v", early, prev)
		}
	}
	if prev, ok := r.Prev(first); ok {
		t.Errorf("before 1970: %v", prev)
	}
	for _, late := range []time.Time{last.AddDate(0, 0, 1), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), last.AddDate(0, 0, 1).Add(1)} {
		if prev, ok := r.Prev(late); !ok || !prev.Equal(last) {
			t.Errorf("before %v: %v %v", late, prev, ok)
		}
		if next, ok := r.Next(late); ok {
			t.Errorf("after %v: %v", late, next)
		}
	}
	if next, ok := r.Next(last); ok {
		t.Errorf("after %v: %v", last, next)
	}
	if _, ok := (Rule{Expr: mustParse(t, "@every 1h")}).Next(first); ok {
		t.Error("@every has occurrences of its own")
	}
}

func TestTheFirstAndTheLastDayOfALocalCalendar(t *testing.T) {
	epoch := time.Unix(0, 0)
	west := Rule{Expr: mustParse(t, "@daily"), Zone: mustZone(t, "America/New_York")}
	if next, ok := west.Next(epoch); !ok || !next.Equal(epoch.Add(5*time.Hour)) {
		t.Errorf("New York's first midnight: %v", next)
	}
	if prev, ok := west.Prev(epoch.Add(5 * time.Hour)); ok {
		t.Errorf("before it: %v", prev)
	}
	leap := berlin(t, "0 0 29 2 *")
	if prev, ok := leap.Prev(local(t, "1972-02-28 00:00:00 +01:00")); ok {
		t.Errorf("a leap day before 1972: %v", prev)
	}
	if next, ok := leap.Next(local(t, "2396-02-29 00:00:00 +01:00")); ok {
		t.Errorf("a leap day behind 2396: %v", next)
	}
	early := Rule{Expr: mustParse(t, "0 0 1 1 *")}
	if prev, ok := early.Prev(epoch.AddDate(0, 0, 2)); !ok || !prev.Equal(epoch) {
		t.Errorf("1970 itself: %v", prev)
	}
}

func TestCivilIsTheLocalTimeOfAnInstant(t *testing.T) {
	r := berlin(t, "0,30 2 * * *")
	for _, row := range []struct {
		text, at string
		want     Civil
	}{
		{"30 2 * * *", "2026-03-28 02:30:00 +01:00", civilOf(2026, 3, 28, 2, 30)},
		{"0,30 2 * * *", "2026-03-29 03:00:00 +02:00", civilOf(2026, 3, 29, 2, 30)},   // the latest time in the gap
		{"0,30 2,3 * * *", "2026-03-29 03:00:00 +02:00", civilOf(2026, 3, 29, 3, 0)},  // and at the end of the gap
		{"0,30 2,3 * * *", "2026-03-29 03:30:00 +02:00", civilOf(2026, 3, 29, 3, 30)}, // after the gap
		{"*/30 * * * *", "2026-03-29 03:00:00 +02:00", civilOf(2026, 3, 29, 3, 0)},
		{"30 2 * * *", "2026-10-25 02:30:00 +01:00", civilOf(2026, 10, 25, 2, 30)},
	} {
		r.Expr = mustParse(t, row.text)
		if got := r.Civil(local(t, row.at)); got != row.want {
			t.Errorf("%q at %s: %d, want %d", row.text, row.at, got, row.want)
		}
	}
	skip := berlin(t, "30 2 * * *")
	skip.Gap = GapSkip
	if got, want := skip.Civil(local(t, "2026-03-29 03:00:00 +02:00")), civilOf(2026, 3, 29, 3, 0); got != want {
		t.Errorf("skipped: %d, want %d", got, want)
	}
}

// A zone's new rules put its clocks back, or forward, under a rule that ran
// already: the evening still has one 21:00.
func TestAnEveningHasOneNineOClockAfterAnyChangeOfItsZone(t *testing.T) {
	expr := mustParse(t, "0 21 * * *")
	east, west := time.FixedZone("", 3*3600), time.FixedZone("", 2*3600)
	ran := time.Date(2026, 11, 22, 21, 0, 0, 0, east)
	done := Rule{Expr: expr, Zone: east}.Civil(ran)

	back := Rule{Expr: expr, Zone: west}
	if next, ok := back.Next(ran); !ok || !next.Equal(ran.Add(time.Hour)) {
		t.Fatalf("Next alone: %v", next)
	}
	if next, ok := back.Resume(ran, done); !ok || !next.Equal(ran.Add(25*time.Hour)) {
		t.Errorf("put back: %v", next)
	}
	ran, done = ran.Add(time.Hour), civilOf(2026, 11, 22, 21, 0)
	if next, ok := (Rule{Expr: expr, Zone: east}).Resume(ran, done); !ok || !next.Equal(ran.Add(23*time.Hour)) {
		t.Errorf("put forward: %v", next)
	}
	hourly := Rule{Expr: mustParse(t, "0 * * * *"), Zone: west}
	if next, ok := hourly.Resume(ran, done+3600); !ok || !next.Equal(ran.Add(time.Hour)) {
		t.Errorf("every hour follows elapsed time: %v", next)
	}
}

func TestResumeReturnsARepeatedLocalTimeUnderOverlapBoth(t *testing.T) {
	r := berlin(t, "30 2 * * *")
	r.Overlap = OverlapBoth
	after, done := local(t, "2026-10-25 01:59:00 +02:00"), civilOf(2026, 10, 25, 3, 0)
	if next, ok := r.Resume(after, done); !ok || !next.Equal(local(t, "2026-10-25 02:30:00 +01:00")) {
		t.Errorf("%v", next)
	}
}

func TestResumeEqualsNextInAnUnchangedZone(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	zones := everyZone(t)
	for range 25 {
		zone := zones[rnd.IntN(len(zones))]
		changed := changes(zone)
		for range 50 {
			e, err := Parse(randomSample(rnd, false).text)
			if err != nil {
				continue // the expression never runs
			}
			from := rnd.Int64N(130 * 365 * daySeconds)
			if len(changed) > 0 {
				from = changed[rnd.IntN(len(changed))] + rnd.Int64N(daySeconds)
			}
			resumeAlong(t, Rule{e, zone, Gap(rnd.IntN(2)), Overlap(rnd.IntN(2))}, from)
		}
	}
}

func resumeAlong(t *testing.T, r Rule, from int64) {
	t.Helper()
	at, ok := r.Next(time.Unix(from, 0))
	for range 10 {
		if !ok {
			return
		}
		next, more := r.Next(at)
		resumed, still := r.Resume(at, r.Civil(at))
		if more != still || !next.Equal(resumed) {
			t.Fatalf("%q in %s (%v, %v) after %v: Resume %v, Next %v", r.Expr, r.Zone, r.Gap, r.Overlap, at, resumed, next)
		}
		at, ok = next, more
	}
}

func TestResumeAcceptsAnyStoredCivilTime(t *testing.T) {
	at := local(t, "2026-11-22 12:00:00 +01:00")
	for _, overlap := range []Overlap{OverlapFirst, OverlapBoth} {
		r := berlin(t, "0 21 * * *")
		r.Overlap = overlap
		if next, ok := r.Resume(at, math.MinInt64); !ok || !next.Equal(at.Add(9*time.Hour)) {
			t.Errorf("%v: %v", overlap, next)
		}
		if next, ok := r.Resume(at, math.MaxInt64); ok {
			t.Errorf("%v: %v", overlap, next)
		}
		if next, ok := r.Resume(at, civilOf(2030, 1, 1, 21, 0)); !ok || !next.Equal(local(t, "2030-01-02 21:00:00 +01:00")) {
			t.Errorf("%v: %v", overlap, next)
		}
	}
}

func TestCountIncludesBothEndsAndStops(t *testing.T) {
	r := berlin(t, "*/15 * * * *")
	from := local(t, "2026-11-22 12:00:00 +01:00")
	for _, row := range []struct {
		from, until time.Time
		most, want  int
	}{
		{from, from, 10, 1},
		{from, from.Add(time.Hour), 10, 5},
		{from.Add(1), from.Add(time.Hour - 1), 10, 3},
		{from, from.Add(time.Hour), 3, 3},
		{from, from.Add(-1), 10, 0},
		{from, from.Add(time.Hour), 0, 0},
	} {
		if got := r.Count(row.from, row.until, row.most); got != row.want {
			t.Errorf("%v to %v, at most %d: %d, want %d", row.from, row.until, row.most, got, row.want)
		}
	}
}
