package redisconn

import (
	"math/rand/v2"
	"strconv"
	"sync"
)

// A server that lost the end of its file, or a replica that was behind, has the
// identity of the store but lacks confirmed changes. So each process counts its
// changes in a field of the hash that holds the identity, in the run that makes
// them, and remembers the highest count that was confirmed. A lower count in a
// later reply is a loss. Claims and extensions are not counted, because a
// failover may lose them.
//
// A process chooses its field at random from a fixed number, so that fields of
// ended processes need no removal. If two processes have the same field, the
// changes of one can hide a loss of the other.
const counterFields = 64

// Counters holds the counts that the servers confirmed to this process.
type Counters struct {
	Field string // the field of this process, in each hash with the identity

	mu    sync.Mutex       // guards known and lost
	known map[string]int64 // the key is that of the hash
	lost  map[string]int64 // the changes that are missing, until Lost returns them
}

func newCounters() *Counters {
	return &Counters{Field: "n" + strconv.Itoa(rand.IntN(counterFields)), known: map[string]int64{}, lost: map[string]int64{}} //nolint:gosec // no secret
}

// Base returns the count that is known for the hash at key. It must be read
// before a call is sent, and passed to See with the reply.
func (t *Counters) Base(key string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[key]
}

// See records the counts that a call found and left in the hash at key.
func (t *Counters) See(key string, base, found, left int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found < base {
		t.lost[key] = max(t.lost[key], base-found)
	}
	if found < base && t.known[key] >= base {
		t.known[key] = left // no earlier reply has noticed this loss
		return
	}
	t.known[key] = max(t.known[key], left)
}

// Missing reports whether changes are missing that Lost has not returned.
func (t *Counters) Missing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.lost) > 0
}

// Lost returns how many confirmed changes were found missing since its last
// call.
func (t *Counters) Lost() (sum int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.lost {
		sum += n
	}
	clear(t.lost)
	return sum
}
