package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Two processes that say the same node's name would own each other's shards. The name
// belongs to the one that had it first (beat.lua), until that goes or is silent;
// the other is its duplicate, and owns nothing. After an outage of Redis the first seems to be
// silent, too, or is forgotten: a duplicate that knew it to live takes no name before heartbeats
// have gone through for a silence. A step of Redis's clock looks alike: it takes none
// before its own next heartbeat is due, whatever news comes meanwhile.

// heartbeatKind returns how this process is to make its heartbeat now.
func (o *Member) heartbeatKind(now time.Time, silence time.Duration) int {
	switch {
	case !o.duplicate.Load():
		return alive
	case o.uncertain(silence):
		return waits
	case o.silent.IsZero(), now.Before(o.silent):
		return yields
	}
	return alive
}

// checkDuplicate returns what to say of another process that lives and has this one's name,
// nil of none. One that ended without a word has left its name here, for a while: who
// had the name first lives if it was heard of again since this process asks.
func (o *Member) checkDuplicate(peers []peer, now task.Millis, found int, silence time.Duration) error {
	if found != other {
		o.holder, o.silent = peer{}, time.Time{}
		o.duplicate.Store(false)
	}
	i := slices.IndexFunc(peers, func(p peer) bool {
		return p.name == o.self.name && p.nonce != o.self.nonce && p.duplicate == (found != other) && (!p.duplicate || p.lives(now, silence))
	})
	if i < 0 {
		return nil
	}
	p := peers[i]
	if p.duplicate {
		return fmt.Errorf("another process, at %s, is the node %q, too, and owns no shards: give each its own name (--node)", p.where(), p.name)
	}
	if p.nonce == o.holder.nonce && p.beat > o.holder.beat {
		o.duplicate.Store(true)
	}
	switch {
	case p.lives(now, silence):
		o.silent = time.Time{}
	case o.silent.IsZero():
		o.silent = o.nextBeat
	}
	o.holder = p
	if !o.duplicate.Load() {
		return nil
	}
	return fmt.Errorf("another process, at %s, was the node %q before, and lives: this one owns no shards until that ends: give each its own name (--node)", p.where(), p.name)
}

// uncertain reports whether heartbeats go through again for less than a silence: others'
// need not yet.
func (o *Member) uncertain(silence time.Duration) bool { return time.Since(o.away) < silence }
