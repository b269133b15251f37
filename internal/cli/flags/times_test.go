package flags

import (
	"strings"
	"testing"
	"time"
)

func TestAnAtWithATimeZoneIsALocalTime(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		when When
		want string // a time, or a part of the error
	}{
		{When{At: "2027-03-28 09:00", TimeZone: "Europe/Berlin"}, "2027-03-28T07:00:00Z"},
		{When{At: "2027-03-28T09:00:30.5", TimeZone: "Europe/Berlin"}, "2027-03-28T07:00:30.5Z"},
		{When{At: "2027-03-28 02:30", TimeZone: "Europe/Berlin"}, "2027-03-28T01:00:00Z"}, // skipped: the end of the gap
		{When{At: "2027-10-31 02:30", TimeZone: "Europe/Berlin"}, "2027-10-31T00:30:00Z"}, // the first of two
		{When{At: "2027-03-28 09:00"}, `--at: "2027-03-28 09:00" is a local time: pass its --timezone`},
		{When{At: "2027-03-28T09:00:00Z", TimeZone: "Europe/Berlin"}, "with --timezone it is a local time"},
		{When{At: "2027-03-28 09:00", TimeZone: "Berlin"}, `--timezone: time zone "Berlin" is unknown`},
		{When{In: "1d", TimeZone: "Europe/Berlin"}, "--timezone: only --at has a time zone"},
		{When{TimeZone: "Europe/Berlin"}, "--in, --at: pass one of them"},
		{When{At: "2026-12-31 23:00", TimeZone: "UTC"}, "--at: 2026-12-31 23:00 is 1h ago"},
	} {
		at, _, err := c.when.Resolve(now)
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && at.UTC().Format(time.RFC3339Nano) != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.when, at, err, c.want)
		}
	}
}

func TestAClockIsTheNextOneAfterATime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 3, 27, 4, 0, 0, 0, berlin)
	for _, c := range []struct {
		text  string
		after time.Time
		want  string
	}{
		{"05:00", now, "2027-03-27T05:00:00+01:00"},
		{"03:00", now, "2027-03-28T03:00:00+02:00"},
		{"05:00", now.Add(23 * time.Hour), "2027-03-28T05:00:00+02:00"}, // after --from 03:00
		{"02:30", now.Add(48 * time.Hour), "2027-03-30T02:30:00+02:00"},
		{"04:00", now.Add(-time.Hour), "2027-03-28T04:00:00+02:00"},
		{"-1h", now, "2027-03-27T03:00:00+01:00"},
	} {
		if at, err := ParseNext("--until", c.text, now, c.after); err != nil || at.Format(time.RFC3339) != c.want {
			t.Errorf("%s after %s: %s, %v; want %s", c.text, c.after, at, err, c.want)
		}
	}
}

// A bound of due times looks ahead: yesterday's would select all that is due since then.
func TestAClockOfAFilterIsTheNextDueTimeAndTheLastEnd(t *testing.T) {
	now := time.Date(2027, 3, 1, 10, 0, 0, 0, time.UTC)
	f, err := Filter{DueAfter: "22:00", EndedAfter: "22:00"}.Resolve(now)
	if tonight := now.Add(12 * time.Hour); err != nil || !f.DueAfter.Equal(tonight) || !f.EndedAfter.Equal(tonight.Add(-24*time.Hour)) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestADurationCanHaveDays(t *testing.T) {
	now := time.Now()
	_, delay, err := When{In: "1d12h"}.Resolve(now)
	bound, errOfBound := ParseBound("--due-before", "-2d", now)
	if err != nil || errOfBound != nil || delay != 36*time.Hour || !bound.Equal(now.Add(-48*time.Hour)) {
		t.Errorf("%v, %v; %v, %v", delay, err, bound, errOfBound)
	}
}
