package redisconn

import (
	"math/rand/v2"
	"strconv"
	"sync"
)

// Each process counts its changes in a field of the hash that holds the identity, in
// the run that makes them. A count that is lower than the highest confirmed one shows
// that the server lost the end of its file, or was a replica that was behind. Claims
// and extensions are not counted, because a failover may lose them.
//
// The field is chosen at random, so that fields of ended processes need no removal. If
// two processes have the same field, the changes of one can hide a loss of the other.
const counterFields = 64

// Counters holds the counts that the servers confirmed to this process.
type Counters struct {
	Field string // the field of this process, in each hash with the identity

	mu    sync.Mutex       // guards known and lost
	known map[string]Base  // the key is that of the hash
	lost  map[string]int64 // the changes that are missing, until Lost returns them
}

// Base is the knowledge of a process about a hash when it sends a call.
type Base struct {
	count  int64 // the highest count that was confirmed
	losses int64 // the number of losses that were noticed
	low    int64 // the lowest count that was found after the last loss
}

func newCounters() *Counters {
	return &Counters{Field: "n" + strconv.Itoa(rand.IntN(counterFields)), known: map[string]Base{}, lost: map[string]int64{}} //nolint:gosec // no secret
}

// Base returns the knowledge about the hash at key. It must be read before a call is
// sent, and passed to See with the reply.
func (c *Counters) Base(key string) Base {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// See records that a call found a count in the hash at key, and that its
// confirmed changes then increased the count by applied. A loss that another
// reply noticed since base was read is not counted again.
func (c *Counters) See(key string, base Base, found, applied int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[key]
	switch {
	case known.losses == base.losses+1 && found < min(base.count, known.low):
		c.lost[key] += known.low - found
		c.known[key] = Base{max(known.count, found+applied), known.losses, found}
	case known.losses != base.losses:
	case found < base.count:
		c.lost[key] += known.count - found
		c.known[key] = Base{found + applied, known.losses + 1, found}
	case applied > 0: // without own changes, the found ones may not be confirmed
		c.known[key] = Base{max(known.count, found+applied), known.losses, known.low}
	}
}

// Missing reports whether changes are missing that Lost has not returned.
func (c *Counters) Missing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lost) > 0
}

// Lost returns how many confirmed changes were found missing since its last
// call.
func (c *Counters) Lost() (sum int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.lost {
		sum += n
	}
	clear(c.lost)
	return sum
}
