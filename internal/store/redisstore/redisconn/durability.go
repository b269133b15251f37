package redisconn

import (
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Durability says what a nil error of a mutation means. Claims and extensions
// wait for no replica at any level: one that is lost is made again.
type Durability string

const (
	// Async: the master has it. Its file has it within a second, a replica soon.
	Async Durability = "async"

	// Default: as Async, and where the master has replicas one of them has it, too.
	// One that does not answer within timeoutOfDefault is not waited for any longer: the
	// reply then names Async, as it does while no replica follows.
	Default Durability = "default"

	// Strict: the master's file has it, synced (appendfsync always), and where
	// replicas are expected so many have it, by itself all that follow. If not: task.ErrNotDurable, and
	// repeating is safe.
	Strict Durability = "strict"
)

// How long a replica may take to confirm.
const (
	timeoutOfDefault = 500 * time.Millisecond
	timeoutOfStrict  = 2 * time.Second
)

// Check returns an error if d is no level.
func (d Durability) Check() error {
	switch d {
	case Async, Default, Strict:
		return nil
	}
	return fmt.Errorf("durability %q is none: async, default or strict", string(d))
}

// wants returns how many replicas of a master must confirm a write, where that
// has so many now, and some master had one since the store was opened.
// expected is Config.Replicas.
func (d Durability) wants(expected, has int, had bool) int {
	switch {
	case d == Async || expected < 0:
		return 0
	case d == Default:
		return min(has, 1)
	case expected > 0:
		return expected
	case had:
		return max(has, 1) // all that follow: any of them may be the next master
	}
	return 0
}

// replicaTimeout returns how long replicas may take.
func (d Durability) replicaTimeout() time.Duration {
	if d == Strict {
		return timeoutOfStrict
	}
	return timeoutOfDefault
}

// unconfirmed says what it means that only so many replicas confirmed: nil where
// the level takes it.
func (d Durability) unconfirmed(addr string, confirmed, wanted int, word time.Duration) error {
	if d != Strict {
		return nil
	}
	return fmt.Errorf("the Redis at %s: %w", addr, &task.ShortError{Confirmed: confirmed, Wanted: wanted, Within: word})
}
