package cron

import (
	"slices"
	"testing"
	"time"
)

func TestClockChangesAreExplained(t *testing.T) {
	for _, c := range []struct {
		text, zone string
		gap        Gap
		overlap    Overlap
		year       int
		want       []string
	}{
		{"30 2 * * *", "Europe/Berlin", GapNext, OverlapFirst, 2027, []string{
			"28 March 2027: 02:30 does not exist; it runs at 03:00",
			"31 October 2027: 02:30 occurs twice; it runs only the first time",
		}},
		{"0,30 2 * * *", "Europe/Berlin", GapSkip, OverlapBoth, 2027, []string{
			"28 March 2027: 02:00 and 02:30 do not exist, and do not run",
			"31 October 2027: 02:00 and 02:30 occur twice; they run both times",
		}},
		{"0,30 2 * * *", "Europe/Berlin", GapNext, OverlapFirst, 2027, []string{
			"28 March 2027: 02:00 and 02:30 do not exist; they run together, once, at 03:00",
			"31 October 2027: 02:00 and 02:30 occur twice; they run only the first time",
		}},
		{"30 2 * * 1", "Europe/Berlin", GapNext, OverlapFirst, 2027, nil}, // clocks change on Sundays
		{"15 30 2 28 3 *", "Europe/Berlin", GapSkip, OverlapFirst, 2027, []string{"28 March 2027: 02:30:15 does not exist, and does not run"}},
		{"30 * * * *", "Europe/Berlin", GapNext, OverlapFirst, 2027, nil}, // it follows the clocks
		{"30 2 * * *", "UTC", GapNext, OverlapFirst, 2027, nil},
		{"0 12 * * *", "Pacific/Apia", GapNext, OverlapFirst, 2011, []string{"30 December 2011: 12:00 does not exist; it runs at 00:00 on 31 December"}},
		{"0,5,10,15,20,25,30,35,40,45,50,55 2 * * *", "Europe/Berlin", GapSkip, OverlapFirst, 2027, []string{
			"28 March 2027: 02:00, 02:05, 02:10, 02:15, 02:20, 02:25, 02:30, 02:35, 02:40, 02:45 and others do not exist, and do not run",
			"31 October 2027: 02:00, 02:05, 02:10, 02:15, 02:20, 02:25, 02:30, 02:35, 02:40, 02:45 and others occur twice; they run only the first time",
		}},
	} {
		r := Rule{Expr: mustParse(t, c.text), Zone: mustZone(t, c.zone), Gap: c.gap, Overlap: c.overlap}
		var got []string
		for _, change := range r.ClockChanges(time.Date(c.year, 1, 1, 0, 0, 0, 0, r.Zone), time.Date(c.year+1, 1, 1, 0, 0, 0, 0, r.Zone)) {
			got = append(got, change.Words(r))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s in %s:\n%q, want\n%q", c.text, c.zone, got, c.want)
		}
	}
}

// The model walks over every minute and counts how often a clock shows it. In the
// short form it visits only quarters of an hour: the expression names no others,
// and in these years all offsets are multiples of a quarter.
func TestClockChangesAgreeWithAWalkByMinutes(t *testing.T) {
	zones := everyZone(t)
	step, pace := 1, Civil(minuteSeconds)
	if testing.Short() {
		step, pace = 19, 15*minuteSeconds
	}
	r := Rule{Expr: mustParse(t, "7,37 0,1,2,3,22,23 * * *")}
	for i := 0; i < len(zones); i += step {
		r.Zone = zones[i]
		year := 1990 + i%40
		from, until := time.Date(year, 1, 5, 0, 7, 0, 0, time.UTC), time.Date(year, 12, 25, 0, 0, 0, 0, time.UTC)
		const day = 24 * 60 * minuteSeconds
		shown := make([]int8, 365*day/pace) // from a day before first
		_, offset := from.In(r.Zone).Zone()
		first, last := Civil(from.Unix())+Civil(offset), Civil(0)
		for at := from.Unix(); at <= until.Unix(); at += int64(pace) {
			_, offset := time.Unix(at, 0).In(r.Zone).Zone()
			c := Civil(at) + Civil(offset)
			shown[(c-first+day)/pace]++
			last = c
		}
		skipped, repeated := map[Civil]bool{}, map[Civil]bool{}
		for c, ok := r.Expr.next(first); ok && c < last; c, ok = r.Expr.next(c + 1) {
			switch shown[(c-first+day)/pace] {
			case 0:
				skipped[c] = true
			case 2:
				repeated[c] = true
			}
		}
		if first%minuteSeconds != 0 {
			continue // an offset with seconds
		}
		for _, change := range r.ClockChanges(from, until) {
			model := skipped
			if change.Repeats {
				model = repeated
			}
			for _, c := range change.Times {
				if !model[c] {
					t.Errorf("%v, %d: the model does not have %s at %v", r.Zone, year, c.clock(), change.At)
				}
				delete(model, c)
			}
		}
		if len(skipped)+len(repeated) > 0 {
			t.Errorf("%v, %d: not found: skipped %v, repeated %v", r.Zone, year, skipped, repeated)
		}
	}
}
