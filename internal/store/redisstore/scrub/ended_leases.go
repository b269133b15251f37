package scrub

import (
	"sync"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// endedLeases holds the leases that a scrub found ended. One check is not
// enough: after a clock was set ahead, every lease seems ended until it is
// extended.
type endedLeases struct {
	mu sync.Mutex
	m  map[task.Key]endedLease
}

type endedLease struct {
	token task.Token
	until task.Millis
	seen  task.Millis // when it was first found ended
}

// lost reports whether t's lease had already ended at an earlier check, at
// least store.AbandonedAfter ago, and was not extended since.
func (s *endedLeases) lost(now task.Millis, t *task.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.State != task.Running || t.Lease.Until > now {
		delete(s.m, t.Key())
		return false
	}
	found := endedLease{t.Lease.Token, t.Lease.Until, now}
	old, ok := s.m[t.Key()]
	if !ok || old.token != found.token || old.until != found.until {
		s.m[t.Key()] = found
		return false
	}
	if now.Sub(old.seen) < store.AbandonedAfter {
		return false
	}
	delete(s.m, t.Key())
	return true
}
