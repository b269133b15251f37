package redisstore

import (
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Now returns the time by which tasks are due: the estimate of the earliest clock of
// the servers, so that each of them accepts a claim of a task that is due by then.
func (s *Store) Now() time.Time {
	if s.config.CallersClock {
		return time.Now()
	}
	earliest, _ := s.servers.Clocks.At(s.servers.Clocks.Monotonic())
	return earliest
}

// Latest returns the time from which the delays of requests count. No server's
// clock is later. So an action with a delay never happens too early.
func (s *Store) Latest() time.Time {
	if s.config.CallersClock {
		return time.Now()
	}
	_, latest := s.servers.Clocks.At(s.servers.Clocks.Monotonic())
	return latest
}

// Trusted returns the time by which tasks expire, records are removed and lost
// leases are taken back. It equals Now, except for some time after the servers'
// clocks stepped ahead, in which nodes extend the leases of attempts under way. A
// node that starts after the step learns the lag from the heartbeats of other nodes.
func (s *Store) Trusted() time.Time {
	now, others := s.trusted.Now(), s.Now().Add(-s.own.OthersLag())
	if others.Before(now) {
		return others
	}
	return now
}

// nowWithin returns bounds of the clock whose earliest time Now returns.
func (s *Store) nowWithin() (earliest, latest time.Time) {
	if s.config.CallersClock {
		now := time.Now()
		return now, now
	}
	return s.servers.Clocks.Within(s.servers.Clocks.Monotonic())
}

// now returns Now in milliseconds.
func (s *Store) now() task.Millis { return task.FloorMillis(s.Now()) }
