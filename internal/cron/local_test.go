package cron

import (
	"strings"
	"testing"
	"time"
)

// The instants of Berlin: its clocks skip 02:00 to 03:00 on 28 March 2027, and
// show 02:00 to 03:00 twice on 31 October 2027. Apia left out 30 December 2011.
func TestALocalTimeIsTheInstantAtWhichTheClocksShowIt(t *testing.T) {
	for _, c := range []struct{ text, zone, want string }{
		{"2027-03-27 09:00", "Europe/Berlin", "2027-03-27T08:00:00Z"},
		{"2027-03-28 09:00", "Europe/Berlin", "2027-03-28T07:00:00Z"},
		{"2027-03-28T09:00:30", "Europe/Berlin", "2027-03-28T07:00:30Z"},
		{"2027-03-28 09:00:30.25", "Europe/Berlin", "2027-03-28T07:00:30.25Z"},
		{"2027-03-28 01:59:59.999", "Europe/Berlin", "2027-03-28T00:59:59.999Z"},
		{"2027-03-28 02:00", "Europe/Berlin", "2027-03-28T01:00:00Z"},
		{"2027-03-28 02:59:59.999", "Europe/Berlin", "2027-03-28T01:00:00Z"}, // the end of the gap
		{"2027-03-28 03:00:00.5", "Europe/Berlin", "2027-03-28T01:00:00.5Z"},
		{"2027-10-31 02:30", "Europe/Berlin", "2027-10-31T00:30:00Z"}, // the first of two
		{"2027-10-31 03:00", "Europe/Berlin", "2027-10-31T02:00:00Z"},
		{"2011-12-30 12:00", "Pacific/Apia", "2011-12-30T10:00:00Z"},
		{"2027-04-04 01:45", "Australia/Lord_Howe", "2027-04-03T14:45:00Z"},
		{"1970-01-01 00:00", "UTC", "1970-01-01T00:00:00Z"},
		{"1970-01-01 00:00", "Asia/Tokyo", "1969-12-31T15:00:00Z"},
		{"2399-12-31 23:59:59.999", "UTC", "2399-12-31T23:59:59.999Z"},
	} {
		at, err := ParseLocal(c.text, c.zone)
		if got := at.UTC().Format(time.RFC3339Nano); err != nil || got != c.want {
			t.Errorf("%s in %s is %s, %v; want %s", c.text, c.zone, got, err, c.want)
		}
	}
}

func TestALocalTimeOfAnotherFormIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "tomorrow", "2027-03-28", "2027-03-28 9:00", "2027-03-28  9:00", "2027-03-28 9:00:00.12", "2027-03-28 09:00:00,5", "2027-03-28 09:00:00.1234",
		"2027-03-28 09:00Z", "2027-03-28T09:00:00Z", "2027-03-28 09:00+02:00", "2027-03-28 09:00:00.", "27-03-28 09:00",
		"2027-03-28t09:00", " 2027-03-28 09:00", "2027-03-28 09:00 ", strings.Repeat("2", 10_000),
	} {
		if at, err := ParseLocal(text, "UTC"); err == nil || !strings.Contains(err.Error(), "such as 2027-03-28 09:00") || len(err.Error()) > 200 {
			t.Errorf("%q is %v, %v", text, at, err)
		}
	}
	for _, text := range []string{"2027-03-28 24:00", "2027-02-29 09:00"} {
		if at, err := ParseLocal(text, "UTC"); err == nil || !strings.Contains(err.Error(), "no such day") {
			t.Errorf("%q is %v, %v", text, at, err)
		}
	}
	for _, text := range []string{"1969-12-31 23:59", "2400-01-01 00:00"} {
		if at, err := ParseLocal(text, "UTC"); err == nil || !strings.Contains(err.Error(), "from 1970 to 2399") {
			t.Errorf("%q is %v, %v", text, at, err)
		}
	}
	for _, zone := range []string{"", "Local", "Europe/Berln"} {
		if at, err := ParseLocal("2027-03-28 09:00", zone); err == nil || !strings.Contains(err.Error(), "time zone") {
			t.Errorf("in the zone %q it is %v, %v", zone, at, err)
		}
	}
}
