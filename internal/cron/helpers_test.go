package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
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
	fatal.If(t, err)
	return zone
}

func mustParse(t testing.TB, text string) *Expr {
	t.Helper()
	e, err := Parse(text)
	fatal.If(t, err)
	return e
}
