package task

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// Retry is the policy for the number of attempts and the waits between them.
type Retry struct {
	MaxAttempts int           // zero means no limit except MaxAge
	MinBackoff  time.Duration // the wait before the second attempt, and the shortest wait
	MaxBackoff  time.Duration // the waits double until they reach this
	MaxAge      time.Duration // the limit of the time of attempts and waits, without downtime (Task.Aged); zero means no limit
}

// Backoff returns the wait before attempt n+1 of the task with the given id, after n ≥
// 1 failures. The wait is b·(½ + u/2), but never below MinBackoff. b doubles from
// MinBackoff to MaxBackoff, and u in [0, 1) comes from a hash of id and n. Backoff is a
// pure function, so every store computes the same instant, and the tasks that failed in
// one minute still spread.
func (r Retry) Backoff(id string, n int) time.Duration {
	b := r.MinBackoff
	for i := 1; i < n && b < r.MaxBackoff; i++ {
		b *= 2
	}
	b = min(b, r.MaxBackoff)
	wait := b/2 + time.Duration(unit(id, n)*float64(b/2))
	return max(wait, r.MinBackoff)
}

// unit hashes id and n to a number in [0, 1).
func unit(id string, n int) float64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(n))
	h.Write(raw[:])
	// FNV's low bits mix better than its high ones; a multiply spreads them over the top 53.
	return float64((h.Sum64()*0x9E3779B97F4A7C15)>>11) / (1 << 53)
}
