package cron

import (
	"strings"
	"testing"
	"time"
)

// everyZone loads the zones of the database that the package is linked with.
func everyZone(t testing.TB) []*time.Location {
	t.Helper()
	var zones []*time.Location
	for name := range strings.Lines(names) {
		zones = append(zones, mustZone(t, strings.TrimSpace(name)))
	}
	return zones
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func mustParse(t testing.TB, text string) *Expr {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
