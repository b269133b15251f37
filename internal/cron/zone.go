package cron

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without a database of their own
)

// freshFor is how long a zone is cached before it is read again: an
// administrator may install a new database, and this must not require a
// restart.
const freshFor = time.Hour

// LoadZone, which any number of goroutines may call, returns the zone with a
// name of the IANA database, such as Europe/Berlin, or UTC. It reads a zone at
// most once an hour, and returns the same pointer if the rules are unchanged,
// except at the first read after the clocks changed.
func LoadZone(name string) (*time.Location, error) {
	return known.load(name, time.Now())
}

// zones caches the zones read. It cannot outgrow the database, because unknown
// names are not cached.
type zones struct {
	read func(name string) (*time.Location, error)

	mu     sync.Mutex // guards everything below
	byName map[string]zoneEntry
}

type zoneEntry struct {
	zone *time.Location
	at   time.Time // when it was read
}

var known = zones{read: time.LoadLocation, byName: map[string]zoneEntry{}}

func (z *zones) load(name string, now time.Time) (*time.Location, error) {
	if !plausible(name) {
		return nil, unknownZone(name)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	old, ok := z.byName[name]
	if age := now.Sub(old.at); ok && age >= 0 && age < freshFor {
		return old.zone, nil
	}
	zone, err := z.read(name)
	switch {
	case err != nil && !ok:
		return nil, unknownZone(name)
	case err != nil || ok && reflect.DeepEqual(zone, old.zone):
		zone = old.zone // the service continues with the rules that it has
	}
	z.byName[name] = zoneEntry{zone, now}
	return zone, nil
}

// plausible refuses names that package time accepts and the database does not
// have: the machine's own zone, other spellings of a file's path, and the
// copies of the database within it, one of which counts leap seconds.
func plausible(name string) bool {
	switch name {
	case "", "Local", "localtime", "Factory", "posixrules":
		return false
	}
	for _, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("/_+-", rune(c)) {
			return false
		}
	}
	return len(name) <= longestName && !strings.Contains(name, "//") &&
		!strings.HasPrefix(name, "right/") && !strings.HasPrefix(name, "posix/")
}

const longestName = 64

func unknownZone(name string) error {
	if len(name) > longestName {
		name = name[:longestName] + "…"
	}
	const like = "a time zone has a name such as Europe/Berlin, America/New_York or UTC"
	if near := nearest(name); near != "" {
		return fmt.Errorf("time zone %q is unknown: %s; did you mean %s?", name, like, near)
	}
	return fmt.Errorf("time zone %q is unknown: %s", name, like)
}
