package redisstore

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Now returns the time by which tasks are due: the estimate of the earliest clock of
// the servers, so that each of them accepts a claim of a task that is due by then.
func (s *Store) Now() time.Time {
	earliest, _ := s.clocks(s.servers.Clocks.At)
	return earliest
}

// Latest returns the time from which the delays of requests count. No server's clock
// is later, so an action with a delay never happens too early.
func (s *Store) Latest() time.Time {
	_, latest := s.clocks(s.servers.Clocks.At)
	return latest
}

// Trusted returns the time by which tasks expire, records are removed and lost
// leases are taken back. It equals Now, except for some time after the servers'
// clocks stepped ahead, in which nodes extend the leases of attempts under way. A
// node that starts after the step learns the lag from the heartbeats of other nodes.
func (s *Store) Trusted() time.Time {
	now, others := s.trusted.Now(), s.Now().Add(-s.member.OthersLag())
	if others.Before(now) {
		return others
	}
	return now
}

// nowWithin returns bounds of the clock whose earliest time Now returns.
func (s *Store) nowWithin() (earliest, latest time.Time) { return s.clocks(s.servers.Clocks.Within) }

func (s *Store) clocks(at func(time.Duration) (earliest, latest time.Time)) (earliest, latest time.Time) {
	if s.config.CallersClock {
		return time.Now(), time.Now()
	}
	return at(s.servers.Clocks.Monotonic())
}

func (s *Store) now() task.Millis { return task.FloorMillis(s.Now()) }

// pollEvery is the time between two checks for changes by other nodes, and counts
// for settings only if the message about an edit is lost.
const pollEvery = 500 * time.Millisecond

func (s *Store) poll() {
	defer close(s.polled)
	for {
		doubt := false
		select {
		case <-time.After(s.servers.UntilNext(pollEvery)):
		case <-s.identity.Doubt:
			doubt = true
		case <-s.closing:
			return
		}
		ctx, stop := context.WithTimeout(s.servers.Lifetime, redisconn.RetryTime)
		err := s.identity.Verify(ctx, time.Now(), doubt)
		if s.servers.Lifetime.Err() == nil {
			s.servers.Failures.Note("read the settings and the identity of the store", err)
		}
		if s.identity.Lost() != nil {
			stop()
			continue
		}
		if err := s.lanes.RaiseBounds(ctx); s.servers.Lifetime.Err() == nil {
			s.servers.Failures.Note("raise the bounds of lanes", err)
		}
		stop()
	}
}

// reload reads the settings if another node has changed them.
func (s *Store) reload(ctx context.Context) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	_, err := s.reloadLocked(ctx)
	return err
}
