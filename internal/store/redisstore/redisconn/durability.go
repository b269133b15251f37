package redisconn

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Durability defines the meaning of a nil error of a mutation. Claims and
// extensions never wait for replicas, at any level: a lost claim or extension
// is repeated.
type Durability string

const (
	// Async: the master has the write. It reaches the master's file within a
	// second, and a replica soon.
	Async Durability = "async"

	// Default: like Async, but if the master has replicas, one of them has the
	// write too. If no replica confirms within timeoutOfDefault, the wait ends
	// and the reply names Async, as it does if no replica follows.
	Default Durability = "default"

	// Strict: the master's file has the write, synced (appendfsync always), and
	// so do all replicas that follow, at least one if a master has had one.
	// Otherwise the error is task.ErrNotDurable, and repeating is safe.
	Strict Durability = "strict"
)

// The longest wait for a replica to confirm.
const (
	timeoutOfDefault = 500 * time.Millisecond
	timeoutOfStrict  = 2 * time.Second
)

// Check returns an error if d is not a durability level.
func (d Durability) Check() error {
	switch d {
	case Async, Default, Strict:
		return nil
	}
	return fmt.Errorf("unknown durability %q: use async, default or strict", string(d))
}

// wants returns how many replicas of a master must confirm a write. has is how
// many follow now, and had is true if any master had a replica since the store
// was opened.
func (d Durability) wants(has int, had bool) int {
	switch {
	case d == Default:
		return min(has, 1)
	case d == Strict && had:
		return max(has, 1) // all that follow: each of them can become the next master
	}
	return 0
}

// replicaTimeout returns the longest wait for replicas to confirm.
func (d Durability) replicaTimeout() time.Duration {
	if d == Strict {
		return timeoutOfStrict
	}
	return timeoutOfDefault
}

// unconfirmed returns the error for a write that too few replicas confirmed,
// nil if the level accepts that.
func (d Durability) unconfirmed(addr string, confirmed, wanted int, within time.Duration) error {
	if d != Strict {
		return nil
	}
	return fmt.Errorf("the Redis at %s: %w", addr, &task.ShortError{Confirmed: confirmed, Wanted: wanted, Within: within})
}
