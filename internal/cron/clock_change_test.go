package cron

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// clockChangeDay is a day on which clocks change, and the expected runs around
// it.
type clockChangeDay struct {
	name    string
	text    string
	zone    string
	gap     Gap
	overlap Overlap
	after   string // local time with offset
	want    []string
}

const layout = "2006-01-02 15:04:05 -07:00"

var clockChangeDays = []clockChangeDay{
	{
		name: "spring in Berlin: what 02:00 to 03:00 swallows runs at 03:00", text: "30 2 * * *", zone: "Europe/Berlin",
		after: "2026-03-28 00:00:00 +01:00",
		want:  []string{"2026-03-28 02:30:00 +01:00", "2026-03-29 03:00:00 +02:00", "2026-03-30 02:30:00 +02:00"},
	},
	{
		name: "spring in Berlin, skipped", text: "30 2 * * *", zone: "Europe/Berlin", gap: GapSkip,
		after: "2026-03-28 00:00:00 +01:00",
		want:  []string{"2026-03-28 02:30:00 +01:00", "2026-03-30 02:30:00 +02:00"},
	},
	{
		name: "autumn in Berlin: the first 02:30", text: "30 2 * * *", zone: "Europe/Berlin",
		after: "2026-10-24 03:00:00 +02:00",
		want:  []string{"2026-10-25 02:30:00 +02:00", "2026-10-26 02:30:00 +01:00"},
	},
	{
		name: "autumn in Berlin: both", text: "30 2 * * *", zone: "Europe/Berlin", overlap: OverlapBoth,
		after: "2026-10-24 03:00:00 +02:00",
		want:  []string{"2026-10-25 02:30:00 +02:00", "2026-10-25 02:30:00 +01:00", "2026-10-26 02:30:00 +01:00"},
	},
	{
		name: "a wildcard's minute in the gap is not made up for", text: "*/10 2 * * *", zone: "Europe/Berlin",
		after: "2026-03-29 00:00:00 +01:00",
		want:  []string{"2026-03-30 02:00:00 +02:00"},
	},
	{
		name: "Apia left out 30 December 2011", text: "0 12 * * *", zone: "Pacific/Apia",
		after: "2011-12-29 00:00:00 -10:00",
		want:  []string{"2011-12-29 12:00:00 -10:00", "2011-12-31 00:00:00 +14:00", "2011-12-31 12:00:00 +14:00"},
	},
}

func TestDaysOfClockChanges(t *testing.T) {
	for _, day := range clockChangeDays {
		t.Run(day.name, func(t *testing.T) {
			r := Rule{Expr: mustParse(t, day.text), Zone: mustZone(t, day.zone), Gap: day.gap, Overlap: day.overlap}
			at, err := time.Parse(layout, day.after)
			fatal.If(t, err)
			var got []string
			for range day.want {
				next, ok := r.Next(at)
				if !ok {
					t.Fatalf("nothing after %v", at)
				}
				if prev, ok := r.Prev(next.Add(time.Nanosecond)); !ok || !prev.Equal(next) {
					t.Errorf("Prev of Next(%v) = %v is %v", at, next, prev)
				}
				if len(got) > 0 {
					if prev, ok := r.Prev(next); !ok || !prev.Equal(at) {
						t.Errorf("Prev before %v: %v, want %v", next, prev, at)
					}
				}
				got, at = append(got, next.Format(layout)), next
			}
			if !slices.Equal(got, day.want) {
				t.Errorf("%q in %s after %s:\n got %q\nwant %q", day.text, day.zone, day.after, got, day.want)
			}
		})
	}
}

func TestPrevFindsTheFirstOfTwoEqualLocalTimes(t *testing.T) {
	r := Rule{Expr: mustParse(t, "40 */60 2 25 10 *"), Zone: mustZone(t, "Europe/Berlin")}
	want := local(t, "2026-10-25 02:00:40 +02:00")
	if prev, ok := r.Prev(local(t, "2026-10-25 02:00:20 +01:00")); !ok || !prev.Equal(want) {
		t.Errorf("%v, want %v", prev, want)
	}
}

// Package time has quirks in its answers about a zone. The search relies only
// on these properties.
func TestASegmentHasOneOffset(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	offset := func(zone *time.Location, at int64) int64 {
		_, offset := time.Unix(at, 0).In(zone).Zone()
		return int64(offset)
	}
	for _, zone := range everyZone(t) {
		for range 200 {
			at := rnd.Int64N(horizon)
			period := offsetPeriodAt(zone, at)
			if at < period.start || at >= period.end {
				t.Fatalf("%s: %d is not in its period %v", zone, at, period)
			}
			start, end := max(period.start, 0), min(period.end, horizon)
			for _, inside := range []int64{start, end - 1, start + rnd.Int64N(end-start), start + rnd.Int64N(end-start)} {
				if got := offset(zone, inside); got != period.offset {
					t.Fatalf("%s: at %d the offset is %d, by the period of %d, %v", zone, inside, got, at, period)
				}
			}
		}
	}
}
