package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/settings"
)

// For a moment after an edit, other nodes still use the settings before it. The reply
// to the edit waits until that is over: configure publishes a message, so other nodes
// read the settings at once. A node that has applied a version sends a heartbeat with
// it, and begins nothing from then on that the settings hold. awaitNodes reads these
// heartbeats. It also raises a fence (fence.go), so a node that has not confirmed, or
// is not live, claims nothing before it has read the settings.

// confirmFor is the longest time that awaitNodes waits.
const confirmFor = 2 * time.Second

// awaitNodes waits until all live nodes have applied edits, and returns the names of
// those that have not, but does not wait if the edits stop nothing.
func (s *Store) awaitNodes(ctx context.Context, edits []settings.Edit) (left []string, err error) {
	stops, holds := settings.Stops(edits)
	if !stops || s.config.Alone {
		return nil, nil
	}
	ctx, stop := context.WithTimeout(ctx, confirmFor)
	defer stop()
	var fencing sync.WaitGroup
	defer fencing.Wait()
	if holds {
		fencing.Go(func() { s.servers.Failures.Note("refuse claims by older settings", s.raiseFences(ctx)) })
	}
	return s.member.AwaitApplied(ctx, s.settings.Load().version, s.servers.Pause)
}

// listenForEdits makes followSettings read the settings after each edit, until
// ctx ends.
func (s *Store) listenForEdits(ctx context.Context) {
	s.member.Listen(ctx, s.servers.Keys.Edits, func(string) {
		select {
		case s.edited <- struct{}{}:
		default:
		}
	})
}

// followSettings reads the settings after each message, until ctx ends, while the
// poll repeats a read that failed, and reports the failure.
func (s *Store) followSettings(ctx context.Context) {
	for {
		select {
		case <-s.edited:
			_ = s.reload(ctx)
		case <-ctx.Done():
			return
		}
	}
}
