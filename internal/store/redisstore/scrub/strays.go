package scrub

import (
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// strays are the leases that a scrub found ended. One look would not do: where a
// clock was set ahead, every lease looks ended until it is extended.
type strays struct {
	mu sync.Mutex
	m  map[task.Key]stray
}

type stray struct {
	token task.Token
	until task.Millis
	seen  task.Millis // when it was first found so
}

// lost reports whether t's lease had ended when it was first looked at, at least
// task.StrayAfter ago, and has not been extended since.
func (s *strays) lost(now task.Millis, t *task.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.State != task.Running || t.Lease.Until > now {
		delete(s.m, t.Key())
		return false
	}
	found := stray{t.Lease.Token, t.Lease.Until, now}
	old, ok := s.m[t.Key()]
	if !ok || old.token != found.token || old.until != found.until {
		s.m[t.Key()] = found
		return false
	}
	if now.Sub(old.seen) < task.StrayAfter {
		return false
	}
	delete(s.m, t.Key())
	return true
}
