package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Two processes with the same node name would own each other's shards. So the name
// belongs to the first of them, the original (Registry.Beat), until the original
// leaves or is silent. A second process with the name is a duplicate and owns no
// shards.
//
// After an outage of the registry the original has no recent heartbeat either, or
// has no entry any more. So a duplicate that has seen the original alive must not
// take the name until heartbeats have succeeded for a full silence period. A step
// of the registry's clock has the same effect, so a duplicate never takes the name
// before the time between two heartbeats has passed, even if it is woken earlier.

// heartbeatMode returns the mode of the next heartbeat of this process.
func (m *Member) heartbeatMode(now time.Time, silence time.Duration) Mode {
	switch {
	case !m.duplicate.Load():
		return Alive
	case m.uncertain(silence):
		return NoName
	case m.silent.IsZero(), now.Before(m.silent):
		return KeepName
	}
	return Alive
}

// checkDuplicate returns an error if another live process has the name of this one.
// A process that crashed leaves its name behind for a while. So the first owner of
// the name counts as alive only if it has sent a heartbeat since this process began
// to check. at is the time of this process, now that of the registry.
func (m *Member) checkDuplicate(at time.Time, peers []Peer, now task.Millis, found Found, silence time.Duration) error {
	if found != Other {
		m.holder, m.silent = Peer{}, time.Time{}
		m.duplicate.Store(false)
	}
	i := slices.IndexFunc(peers, func(p Peer) bool {
		return p.Name == m.self.Name && p.Nonce != m.self.Nonce && p.Duplicate == (found != Other) && (!p.Duplicate || p.lives(now, silence))
	})
	if i < 0 {
		return nil
	}
	p := peers[i]
	if p.Duplicate {
		return fmt.Errorf("another server at %s uses the same node name %q, and owns no shards: give each server its own name (--node)", p.where(), p.Name)
	}
	if p.Nonce == m.holder.Nonce && p.Beat > m.holder.Beat {
		m.duplicate.Store(true)
	}
	switch {
	case p.lives(now, silence):
		m.silent = time.Time{}
	case m.silent.IsZero():
		m.silent = at.Add(m.config.Heartbeat)
	}
	m.holder = p
	if !m.duplicate.Load() {
		return nil
	}
	return fmt.Errorf("another live server at %s already uses the node name %q, so this server owns no shards until the other one stops: give each server its own name (--node)", p.where(), p.Name)
}

// uncertain reports whether the last failed heartbeat was less than one silence
// ago, because in that time the heartbeats of other nodes may still be missing.
func (m *Member) uncertain(silence time.Duration) bool { return time.Since(m.away) < silence }
