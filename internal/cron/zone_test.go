package cron

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func TestLoadZoneAcceptsOnlyNamesOfTheDatabase(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"} {
		zone, err := LoadZone(name)
		if err != nil || zone.String() != name {
			t.Errorf("%s: %v, %v", name, zone, err)
		}
	}
	for _, row := range []struct{ name, says string }{
		{"", `time zone "" is unknown: a time zone has a name such as Europe/Berlin`},
		{"Local", "is unknown"},
		{"localtime", "is unknown"},
		{"right/Europe/Berlin", "is unknown"},
		{"posix/Europe/Berlin", "is unknown"},
		{"../../etc/passwd", "is unknown"},
		{"/etc/localtime", "is unknown"},
		{"Europe", "is unknown"},
		{"./Europe/Berlin", "did you mean Europe/Berlin?"},
		{"Europe//Berlin", "did you mean Europe/Berlin?"},
		{"Europe/Berlin\x00", "is unknown"},
		{"+02:00", "America/New_York or UTC"},
		{"europe/berlin", "did you mean Europe/Berlin?"},
		{"Berlin", "did you mean Europe/Berlin?"},
		{"Europe/Berln", "did you mean Europe/Berlin?"},
		{"America/New York", "did you mean America/New_York?"},
		{"utc", "did you mean UTC?"},
		{strings.Repeat("x", 1000), "x…"},
	} {
		zone, err := LoadZone(row.name)
		if err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%q: %v, %v", row.name, zone, err)
		}
	}
}

func TestAZoneIsReadAgainAfterAnHour(t *testing.T) {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	reads, offset, failure := 0, 3600, error(nil)
	z := zones{byName: map[string]zoneEntry{}, read: func(name string) (*time.Location, error) {
		reads++
		if failure != nil {
			return nil, failure
		}
		return time.FixedZone(name, offset), nil
	}}
	load := func(after time.Duration) *time.Location {
		t.Helper()
		now = now.Add(after)
		zone, err := z.load("Europe/Berlin", now)
		fatal.If(t, err)
		return zone
	}

	first := load(0)
	if load(59 * time.Minute); reads != 1 {
		t.Errorf("%d reads within an hour", reads)
	}
	if again := load(time.Minute); reads != 2 || again != first {
		t.Errorf("after an hour: %d reads, the same rules another pointer: %v", reads, again != first)
	}
	offset = 7200
	second := load(time.Hour)
	if second == first {
		t.Error("a new database is not noticed")
	}
	failure = errors.New("no such file")
	if load(time.Hour) != second {
		t.Error("a zone went away with its file")
	}
	failure, offset = nil, 3600
	if load(-24*time.Hour) == second {
		t.Error("a clock that was put back keeps an old zone for longer than an hour")
	}
	if _, err := z.load("Nowhere", now); err != nil {
		t.Fatal(err)
	}
	failure = errors.New("no such file")
	if _, err := z.load("Elsewhere", now); err == nil || len(z.byName) != 2 {
		t.Errorf("%v; kept: %d", err, len(z.byName))
	}
}
