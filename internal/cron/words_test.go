package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// The sentence names a choice if two rules fire on different days because of
// it, and only then.
func TestWordsMentionUnusualPoliciesForClockChanges(t *testing.T) {
	for _, row := range []struct {
		text    string
		gap     Gap
		overlap Overlap
		want    string
	}{
		{"30 2 * * *", GapNext, OverlapFirst, "at 02:30 every day"},
		{"30 2 * * *", GapSkip, OverlapFirst, "at 02:30 every day, not when clocks skip it"},
		{"30 2 * * *", GapNext, OverlapBoth, "at 02:30 every day, twice when clocks repeat it"},
		{"30 2 * * *", GapSkip, OverlapBoth, "at 02:30 every day, not when clocks skip it, twice when clocks repeat it"},
		{"*/15 * * * *", GapSkip, OverlapBoth, "every 15 minutes"},
		{"@every 90s", GapSkip, OverlapBoth, "every 1 minute 30 seconds"},
	} {
		e, err := Parse(row.text)
		fatal.If(t, err)
		if got := (Rule{Expr: e, Gap: row.gap, Overlap: row.overlap}).Words(); got != row.want {
			t.Errorf("%s: %q, want %q", row.text, got, row.want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"0 21 * * *", "at 21:00 every day"},
		{"0 21 * * MON-FRI", "at 21:00 on weekdays"},
		{"30 2 L * *", "at 02:30 on the last day of the month"},
		{"* * * * *", "every minute"},
		{"*/15 * * * *", "every 15 minutes"},
		{"*/15 9-17 * * MON-FRI", "every 15 minutes between 09:00 and 17:59 on weekdays"},
		{"*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"},
		{"0 * * * *", "every hour, on the hour"},
		{"0 */2 * * *", "every 2 hours from 00:00"},
		{"30 */6 * * *", "at 00:30, 06:30, 12:30 and 18:30 every day"},
		{"0 9-17 * * MON-FRI", "every hour from 09:00 to 17:00 on weekdays"},
		{"5,10 1,2,3,4 * * *", "at minutes 5 and 10 of hours 1 to 4 every day"},
		{"0 0 1 * *", "at 00:00 on the 1st of the month"},
		{"@yearly", "at 00:00 on the 1st of January"},
		{"0 0 1,15 * *", "at 00:00 on the 1st and the 15th of the month"},
		{"0 0 13 * FRI", "at 00:00 on the 13th of the month and also on Fridays"},
		{"0 0 */2 * *", "at 00:00 on every 2nd day from the 1st of the month"},
		{"0 0 */2 * MON", "at 00:00 on every 2nd day from the 1st of the month, but only on Mondays"},
		{"0 0 1 1,4,7,10 *", "at 00:00 on the 1st of the month in January, April, July and October"},
		{"0 0 1 6-8 *", "at 00:00 on the 1st of the month from June to August"},
		{"0 0 * * FRIL", "at 00:00 on the last Friday of the month"},
		{"0 0 * * MON#2,WED", "at 00:00 on Wednesdays and the second Monday of the month"},
		{"0 0 1 JAN MON", "at 00:00 on the 1st of the month and also on Mondays in January"},
		{"0 22 * * FRI-MON", "at 22:00 on Friday to Monday"},
		{"0 22 * * 1,3,5", "at 22:00 on Mondays, Wednesdays and Fridays"},
		{"30 59 23 * * *", "at 23:59:30 every day"},
		{"*/10 * * * * *", "every 10 seconds"},
		{"5 * * * * *", "at second 5 of every minute"},
		{"*/10 * 9-17 * * *", "every 10 seconds between 09:00 and 17:59"},
		{"*/10 */15 * * * *", "every 10 seconds of minutes 0, 15, 30 and 45 of every hour"},
		{"0 30 7 ? * MON-FRI", "at 07:30 on weekdays"},
		{"0-29 * * * *", "at minutes 0 to 29 of every hour"},
		{"* 3 * * *", "every minute between 03:00 and 03:59"},
		{"@every 90s", "every 1 minute 30 seconds"},
		{"@every 36h", "every 1 day 12 hours"},
	} {
		if got := mustParse(t, row.text).Words(); got != row.want {
			t.Errorf("%q: %q, want %q", row.text, got, row.want)
		}
	}
}

// If two different expressions had the same sentence, it would be wrong for one
// of them.
func TestDifferentExpressionsHaveDifferentWords(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	said := map[string]*Expr{}
	rounds := 20000
	if testing.Short() {
		rounds = 3000
	}
	for i := range rounds {
		e, err := Parse(randomSample(rnd, i%4 == 0).text)
		if err != nil {
			continue
		}
		words := e.Words()
		if other, ok := said[words]; ok && meaning(e) != meaning(other) {
			t.Fatalf("%q and %q are both %q", e, other, words)
		}
		said[words] = e
	}
}

// meaning returns the facts that an expression's words must contain: its times
// and its days.
func meaning(e *Expr) string {
	text := fmt.Sprint(e.clock, e.days.months)
	for year := 2024; year < 2052; year++ {
		for month := 1; month <= 12; month++ {
			if e.days.months.has(month) {
				text += fmt.Sprint(" ", e.days.of(year, month))
			}
		}
	}
	return text
}

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
