package cron

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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
		name: "several swallowed ones and the one that stands at the gap's end are one", text: "0,15,30,45 2,3 * * *", zone: "Europe/Berlin",
		after: "2026-03-29 00:00:00 +01:00",
		want:  []string{"2026-03-29 03:00:00 +02:00", "2026-03-29 03:15:00 +02:00"},
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
		name: "autumn in Berlin, asked between the two: the first one was it", text: "30 2 * * *", zone: "Europe/Berlin",
		after: "2026-10-25 02:15:00 +01:00",
		want:  []string{"2026-10-26 02:30:00 +01:00"},
	},
	{
		name: "a wildcard's minute in the gap is not made up for", text: "*/10 2 * * *", zone: "Europe/Berlin",
		after: "2026-03-29 00:00:00 +01:00",
		want:  []string{"2026-03-30 02:00:00 +02:00"},
	},
	{
		name: "Lord Howe's spring is half an hour", text: "15 2 * * *", zone: "Australia/Lord_Howe",
		after: "2026-10-03 12:00:00 +10:30",
		want:  []string{"2026-10-04 02:30:00 +11:00", "2026-10-05 02:15:00 +11:00"},
	},
	{
		name: "Apia left out 30 December 2011", text: "0 12 * * *", zone: "Pacific/Apia",
		after: "2011-12-29 00:00:00 -10:00",
		want:  []string{"2011-12-29 12:00:00 -10:00", "2011-12-31 00:00:00 +14:00", "2011-12-31 12:00:00 +14:00"},
	},
	{
		name: "Winamac went from winter in one zone to summer in another", text: "30 2,3 * * *", zone: "America/Indiana/Winamac",
		after: "2007-03-10 12:00:00 -06:00",
		want:  []string{"2007-03-11 04:00:00 -04:00", "2007-03-12 02:30:00 -04:00"},
	},
	{
		name: "29 February", text: "0 0 29 2 *", zone: "Europe/Berlin",
		after: "2096-02-28 00:00:00 +01:00",
		want:  []string{"2096-02-29 00:00:00 +01:00", "2104-02-29 00:00:00 +01:00"},
	},
	{
		name: "day of month or weekday", text: "0 0 13 * FRI", zone: "UTC",
		after: "2026-11-05 00:00:00 +00:00",
		want:  []string{"2026-11-06 00:00:00 +00:00", "2026-11-13 00:00:00 +00:00", "2026-11-20 00:00:00 +00:00"},
	},
	{
		name: "and, if one begins with a star", text: "0 0 */2 * MON", zone: "UTC",
		after: "2026-11-01 00:00:00 +00:00",
		want:  []string{"2026-11-09 00:00:00 +00:00", "2026-11-23 00:00:00 +00:00", "2026-12-07 00:00:00 +00:00"},
	},
	{
		name: "the last day, the third before it, the last Friday, the second Monday", text: "0 0 L,L-3 * FRIL,MON#2", zone: "UTC",
		after: "2026-02-01 00:00:00 +00:00",
		want: []string{
			"2026-02-09 00:00:00 +00:00", "2026-02-25 00:00:00 +00:00", "2026-02-27 00:00:00 +00:00",
			"2026-02-28 00:00:00 +00:00", "2026-03-09 00:00:00 +00:00",
		},
	},
}

func TestDaysOfClockChanges(t *testing.T) {
	for _, day := range clockChangeDays {
		t.Run(day.name, func(t *testing.T) {
			r := Rule{Expr: mustParse(t, day.text), Zone: mustZone(t, day.zone), Gap: day.gap, Overlap: day.overlap}
			at, err := time.Parse(layout, day.after)
			if err != nil {
				t.Fatal(err)
			}
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

func TestTheLastDayOfALeapYearIsOneSegment(t *testing.T) {
	zone := mustZone(t, "America/New_York")
	end := time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, at := range []int64{end - daySeconds, end - daySeconds/2, end - 1} {
		if period := offsetPeriodAt(zone, at); period.end != end {
			t.Errorf("the period of %d ends at %d, not %d", at, period.end, end)
		}
	}
}

// Liberia's clocks were 44½ minutes behind until 1972-01-07, when they were put
// forward to UTC.
func TestAnOffsetMayHaveSeconds(t *testing.T) {
	r := Rule{Expr: mustParse(t, "15 0 * * *"), Zone: mustZone(t, "Africa/Monrovia")}
	at := time.Date(1972, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, want := range []time.Time{
		time.Date(1972, 1, 6, 0, 59, 30, 0, time.UTC),
		time.Date(1972, 1, 7, 0, 44, 30, 0, time.UTC), // 00:00:00 to 00:44:30 did not exist
		time.Date(1972, 1, 8, 0, 15, 0, 0, time.UTC),
	} {
		got, ok := r.Next(at)
		if !ok || !got.Equal(want) {
			t.Fatalf("after %v: %v, want %v", at, got.UTC(), want)
		}
		at = got
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
