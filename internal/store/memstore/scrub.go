package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// endedLease is a lease that a scrub found ended.
type endedLease struct {
	token task.Token
	until task.Millis
	seen  task.Millis // when a scrub first found it ended
}

// Scrub looks only for lost leases, because the store has no index that could
// be wrong. The cursor is the last name examined.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	if err := s.enter(ctx); err != nil {
		return store.Scrubbed{}, err
	}
	defer s.leave()
	var done store.Scrubbed
	for _, place := range s.placesLocked(cursor) {
		if done.Examined == max(limit, 1) {
			return done, nil
		}
		done.Examined++
		done.Next = place.name
		if t := s.records[place.key]; s.abandonedLocked(now, t) {
			s.reapLocked(now, t, false)
			done.Repairs = append(done.Repairs, store.Repair{Key: place.key, Found: store.FoundAbandoned})
		}
	}
	done.Next = ""
	return done, nil
}

// place is the position of a record in the order of scrubs.
type place struct {
	name string
	key  task.Key
}

func (s *Store) placesLocked(after string) []place {
	var places []place
	for key := range maps.Keys(s.records) {
		if name := key.Namespace + "\x00" + key.Name; name > after {
			places = append(places, place{name, key})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return places
}

// abandonedLocked reports whether t's lease has ended and has not been extended
// for store.AbandonedAfter since a scrub first saw that. One scrub is not
// enough, because every lease looks ended after the clock was set ahead.
func (s *Store) abandonedLocked(now task.Millis, t *task.Task) bool {
	key := t.Key()
	if t.State != task.Running || t.Lease.Until > now {
		delete(s.endedLeases, key)
		return false
	}
	found := endedLease{t.Lease.Token, t.Lease.Until, now}
	old, again := s.endedLeases[key]
	if again && old.token == found.token && old.until == found.until {
		if now.Sub(old.seen) < store.AbandonedAfter {
			return false
		}
		delete(s.endedLeases, key)
		return true
	}
	s.endedLeases[key] = found
	return false
}
