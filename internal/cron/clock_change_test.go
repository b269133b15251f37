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
		name: "the gap's first minute is swallowed", text: "0 2 * * *", zone: "Europe/Berlin",
		after: "2026-03-29 00:00:00 +01:00",
		want:  []string{"2026-03-29 03:00:00 +02:00", "2026-03-30 02:00:00 +02:00"},
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
		name: "what is shown again is not lost where the year has no other", text: "*/60 2 25 10 *", zone: "Europe/Berlin",
		after: "2026-10-25 02:30:00 +02:00",
		want:  []string{"2026-10-25 02:00:00 +01:00", "2027-10-25 02:00:00 +02:00"},
	},
	{
		name: "autumn in Berlin: 03:00 comes once, and so does 02:00", text: "0 2,3 * * *", zone: "Europe/Berlin",
		after: "2026-10-25 00:00:00 +02:00",
		want:  []string{"2026-10-25 02:00:00 +02:00", "2026-10-25 03:00:00 +01:00"},
	},
	{
		name: "a quarter of an hour is one in autumn", text: "*/30 * * * *", zone: "Europe/Berlin",
		after: "2026-10-25 01:45:00 +02:00",
		want: []string{
			"2026-10-25 02:00:00 +02:00", "2026-10-25 02:30:00 +02:00", "2026-10-25 02:00:00 +01:00",
			"2026-10-25 02:30:00 +01:00", "2026-10-25 03:00:00 +01:00",
		},
	},
	{
		name: "and in spring", text: "*/30 * * * *", zone: "Europe/Berlin",
		after: "2026-03-29 01:15:00 +01:00",
		want:  []string{"2026-03-29 01:30:00 +01:00", "2026-03-29 03:00:00 +02:00", "2026-03-29 03:30:00 +02:00"},
	},
	{
		name: "a wildcard's minute in the gap is not made up for", text: "*/10 2 * * *", zone: "Europe/Berlin",
		after: "2026-03-29 00:00:00 +01:00",
		want:  []string{"2026-03-30 02:00:00 +02:00"},
	},
	{
		name: "spring in New York", text: "30 2 * * *", zone: "America/New_York",
		after: "2026-03-08 00:00:00 -05:00",
		want:  []string{"2026-03-08 03:00:00 -04:00", "2026-03-09 02:30:00 -04:00"},
	},
	{
		name: "autumn in New York", text: "0 1 * * SUN", zone: "America/New_York",
		after: "2026-10-31 12:00:00 -04:00",
		want:  []string{"2026-11-01 01:00:00 -04:00", "2026-11-08 01:00:00 -05:00"},
	},
	{
		name: "Lord Howe's spring is half an hour", text: "15 2 * * *", zone: "Australia/Lord_Howe",
		after: "2026-10-03 12:00:00 +10:30",
		want:  []string{"2026-10-04 02:30:00 +11:00", "2026-10-05 02:15:00 +11:00"},
	},
	{
		name: "what comes after Lord Howe's half hour is not swallowed", text: "30,45 2 * * *", zone: "Australia/Lord_Howe",
		after: "2026-10-03 12:00:00 +10:30",
		want:  []string{"2026-10-04 02:30:00 +11:00", "2026-10-04 02:45:00 +11:00"},
	},
	{
		name: "Lord Howe's autumn is half an hour", text: "45 1 * * *", zone: "Australia/Lord_Howe", overlap: OverlapBoth,
		after: "2026-04-04 12:00:00 +11:00",
		want:  []string{"2026-04-05 01:45:00 +11:00", "2026-04-05 01:45:00 +10:30", "2026-04-06 01:45:00 +10:30"},
	},
	{
		name: "Lord Howe's autumn, first", text: "15,45 1 * * *", zone: "Australia/Lord_Howe",
		after: "2026-04-04 12:00:00 +11:00",
		want:  []string{"2026-04-05 01:15:00 +11:00", "2026-04-05 01:45:00 +11:00", "2026-04-06 01:15:00 +10:30"},
	},
	{
		name: "no midnight in Sao Paulo", text: "0 0 * * *", zone: "America/Sao_Paulo",
		after: "2018-11-03 12:00:00 -03:00",
		want:  []string{"2018-11-04 01:00:00 -02:00", "2018-11-05 00:00:00 -02:00"},
	},
	{
		name: "two midnights in Sao Paulo's autumn: 23:30 comes twice, midnight once", text: "30 23 * * *", zone: "America/Sao_Paulo",
		after: "2018-02-17 12:00:00 -02:00",
		want:  []string{"2018-02-17 23:30:00 -02:00", "2018-02-18 23:30:00 -03:00"},
	},
	{
		name: "no midnight in Havana", text: "0 0 * * *", zone: "America/Havana",
		after: "2026-03-07 12:00:00 -05:00",
		want:  []string{"2026-03-08 01:00:00 -04:00", "2026-03-09 00:00:00 -04:00"},
	},
	{
		name: "two midnights in Havana", text: "0 0 * * *", zone: "America/Havana",
		after: "2026-10-31 12:00:00 -04:00",
		want:  []string{"2026-11-01 00:00:00 -04:00", "2026-11-02 00:00:00 -05:00"},
	},
	{
		name: "no midnight in Beirut", text: "0 0 * * *", zone: "Asia/Beirut",
		after: "2026-03-28 12:00:00 +02:00",
		want:  []string{"2026-03-29 01:00:00 +03:00", "2026-03-30 00:00:00 +03:00"},
	},
	{
		name: "a Sunday that begins at 01:00 has its weekly midnight", text: "@weekly", zone: "Asia/Beirut",
		after: "2026-03-28 12:00:00 +02:00",
		want:  []string{"2026-03-29 01:00:00 +03:00", "2026-04-05 00:00:00 +03:00"},
	},
	{
		name: "Apia left out 30 December 2011", text: "0 12 * * *", zone: "Pacific/Apia",
		after: "2011-12-29 00:00:00 -10:00",
		want:  []string{"2011-12-29 12:00:00 -10:00", "2011-12-31 00:00:00 +14:00", "2011-12-31 12:00:00 +14:00"},
	},
	{
		name: "Apia, skipped", text: "0 12 * * *", zone: "Pacific/Apia", gap: GapSkip,
		after: "2011-12-29 00:00:00 -10:00",
		want:  []string{"2011-12-29 12:00:00 -10:00", "2011-12-31 12:00:00 +14:00"},
	},
	{
		name: "Apia's missing Friday", text: "0 9 * * FRI", zone: "Pacific/Apia",
		after: "2011-12-24 00:00:00 -10:00",
		want:  []string{"2011-12-31 00:00:00 +14:00", "2012-01-06 09:00:00 +14:00"},
	},
	{
		name: "hours go on in Apia", text: "0 * * * *", zone: "Pacific/Apia",
		after: "2011-12-29 22:30:00 -10:00",
		want:  []string{"2011-12-29 23:00:00 -10:00", "2011-12-31 00:00:00 +14:00"},
	},
	{
		name: "Kwajalein left out 21 August 1993", text: "0 12 * * *", zone: "Pacific/Kwajalein",
		after: "1993-08-20 00:00:00 -12:00",
		want:  []string{"1993-08-20 12:00:00 -12:00", "1993-08-22 00:00:00 +12:00", "1993-08-22 12:00:00 +12:00"},
	},
	{
		name: "Volgograd's standard time went back by an hour", text: "30 1 * * *", zone: "Europe/Volgograd",
		after: "2020-12-26 12:00:00 +04:00",
		want:  []string{"2020-12-27 01:30:00 +04:00", "2020-12-28 01:30:00 +03:00"},
	},
	{
		name: "Pyongyang's standard time went forward by half an hour at 23:30", text: "45 23 * * *", zone: "Asia/Pyongyang",
		after: "2018-05-04 12:00:00 +08:30",
		want:  []string{"2018-05-05 00:00:00 +09:00", "2018-05-05 23:45:00 +09:00"},
	},
	{
		name: "Caracas went back by half an hour at 03:00", text: "45 2 * * *", zone: "America/Caracas", overlap: OverlapBoth,
		after: "2007-12-08 12:00:00 -04:00",
		want:  []string{"2007-12-09 02:45:00 -04:00", "2007-12-09 02:45:00 -04:30", "2007-12-10 02:45:00 -04:30"},
	},
	{
		name: "Troll's two hours", text: "30 1,2 * * *", zone: "Antarctica/Troll",
		after: "2026-03-28 12:00:00 +00:00",
		want:  []string{"2026-03-29 03:00:00 +02:00", "2026-03-30 01:30:00 +02:00"},
	},
	{
		name: "winter time is Dublin's exception", text: "30 1 * * *", zone: "Europe/Dublin",
		after: "2026-10-24 12:00:00 +01:00",
		want:  []string{"2026-10-25 01:30:00 +01:00", "2026-10-26 01:30:00 +00:00"},
	},
	{
		name: "Casablanca's clocks go back for Ramadan", text: "30 2 * * *", zone: "Africa/Casablanca",
		after: "2026-02-14 12:00:00 +01:00",
		want:  []string{"2026-02-15 02:30:00 +01:00", "2026-02-16 02:30:00 +00:00"},
	},
	{
		name: "and forward behind it", text: "30 2 * * *", zone: "Africa/Casablanca",
		after: "2026-03-21 12:00:00 +00:00",
		want:  []string{"2026-03-22 03:00:00 +01:00", "2026-03-23 02:30:00 +01:00"},
	},
	{
		name: "Winamac went from winter in one zone to summer in another", text: "30 2,3 * * *", zone: "America/Indiana/Winamac",
		after: "2007-03-10 12:00:00 -06:00",
		want:  []string{"2007-03-11 04:00:00 -04:00", "2007-03-12 02:30:00 -04:00"},
	},
	{
		name: "the last day of a leap year, in the years without a table", text: "0 9 * * *", zone: "America/New_York",
		after: "2040-12-30 12:00:00 -05:00",
		want:  []string{"2040-12-31 09:00:00 -05:00", "2041-01-01 09:00:00 -05:00"},
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
	{
		name: "a fifth Monday", text: "0 0 * * MON#5", zone: "UTC",
		after: "2026-01-01 00:00:00 +00:00",
		want:  []string{"2026-03-30 00:00:00 +00:00", "2026-06-29 00:00:00 +00:00"},
	},
	{
		name: "seconds in a gap", text: "30 59 2 * * *", zone: "Europe/Berlin",
		after: "2026-03-29 00:00:00 +01:00",
		want:  []string{"2026-03-29 03:00:00 +02:00", "2026-03-30 02:59:30 +02:00"},
	},
	{
		name: "no zone behaves as UTC", text: "0 0 * * *", zone: "UTC",
		after: "1969-01-01 00:00:00 +00:00",
		want:  []string{"1970-01-01 00:00:00 +00:00", "1970-01-02 00:00:00 +00:00"},
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
