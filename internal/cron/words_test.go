package cron

import (
	"fmt"
	"math/rand/v2"
	"testing"

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
