package redisstore

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

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
