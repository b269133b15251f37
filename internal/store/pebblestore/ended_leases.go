package pebblestore

import (
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// endedLeases are the expired leases that a scrub has found. A lease that has
// not changed store.AbandonedAfter later is held by no process, because a
// holder extends its lease. Two checks are necessary: if the clock is set
// ahead, every lease looks expired until it is extended.
type endedLeases struct {
	mu     sync.Mutex // guards everything below
	found  map[task.Key]endedLease
	scrubs int
}

type endedLease struct {
	lost
	seen  task.Millis // when it was first found expired
	scrub int         // the last scrub that found it
}

// begin begins a scrub.
func (s *endedLeases) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scrubs++
}

// end ends a scrub. Leases that it did not find again were settled or extended.
func (s *endedLeases) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, old := range s.found {
		if old.scrub != s.scrubs {
			delete(s.found, key)
		}
	}
}

// find checks the lease of a running task, and returns the lease if it is lost.
func (s *endedLeases) find(now task.Millis, t *task.Task) []lost {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Lease.Until > now {
		delete(s.found, t.Key())
		return nil
	}
	this := endedLease{lost: lost{t.Key(), kernel.Reap{Token: t.Lease.Token, Until: t.Lease.Until}}, seen: now, scrub: s.scrubs}
	if old, again := s.found[this.key]; again && old.lost == this.lost {
		if now.Sub(old.seen) >= store.AbandonedAfter {
			delete(s.found, this.key)
			return []lost{this.lost}
		}
		this.seen = old.seen
	}
	if s.found == nil {
		s.found = make(map[task.Key]endedLease)
	}
	s.found[this.key] = this
	return nil
}

// lost is a lease that no process holds.
type lost struct {
	key   task.Key
	lease kernel.Reap
}
