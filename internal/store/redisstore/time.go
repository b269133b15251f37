package redisstore

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Now returns the time by which tasks are due: that of the servers, and where
// their clocks differ the earliest. It asks nobody: by the way of the fastest reply
// of late, and a millisecond at most, it is behind. What is due by then every
// server grants.
func (s *Store) Now() time.Time {
	if s.config.CallersClock {
		return time.Now()
	}
	earliest, _ := s.servers.Clocks.At(s.servers.Clocks.Steady())
	return earliest
}

// Latest returns the time from which requests count: no server's clock is behind
// it. What is to happen so long after a request does not happen earlier.
func (s *Store) Latest() time.Time {
	if s.config.CallersClock {
		return time.Now()
	}
	_, latest := s.servers.Clocks.At(s.servers.Clocks.Steady())
	return latest
}

// Trusted returns the time by which tasks expire, records are removed and lost leases
// are taken back. It is Now, but for a while after the servers' clocks have stepped ahead,
// or servers that are ahead have become masters: then attempts under way keep their
// leases, which their nodes renew by the new time meanwhile. A node that was started only
// after the step learns of it from the others' heartbeats.
func (s *Store) Trusted() time.Time {
	now, others := s.trusted.Now(), s.Now().Add(-s.own.OthersLag())
	if others.Before(now) {
		return others
	}
	return now
}

// nowWithin returns between which times the clock lies whose earliest time Now returns.
func (s *Store) nowWithin() (earliest, latest time.Time) {
	if s.config.CallersClock {
		now := time.Now()
		return now, now
	}
	return s.servers.Clocks.Within(s.servers.Clocks.Steady())
}

// now returns Now in milliseconds.
func (s *Store) now() task.Millis { return task.FloorMillis(s.Now()) }
