package wheel

import "time"

// Expired is a timer that has fired, as NewBatch's callback receives it.
type Expired[T any] struct {
	ID    ID
	Value T
	Due   time.Time     // the deadline, rounded up to a tick
	Late  time.Duration // how much later than Due it was handed over
}

// batchSize is the largest number of timers in one hand-over.
const batchSize = 256

// batch is the slice of one hand-over, which returns to its shard after the
// callback has returned.
type batch[T any] struct {
	items []Expired[T]
	due   []dueTimer[T] // of the items; empty while the lock is not held
}

func (sh *shard[T]) takeBatchLocked() *batch[T] {
	if k := len(sh.spare); k > 0 {
		b := sh.spare[k-1]
		sh.spare = sh.spare[:k-1]
		return b
	}
	return new(batch[T])
}

// giveBatch clears the values and keeps the batch for the next hand-over.
func (sh *shard[T]) giveBatch(b *batch[T]) {
	clear(b.items)
	b.items = b.items[:0]
	sh.mu.Lock()
	if len(sh.spare) < 4 {
		sh.spare = append(sh.spare, b)
	}
	sh.mu.Unlock()
}

// stepBatchLocked expires a batch and hands it over. It fetches the values in a
// second round: without an atomic operation between them, the processor waits
// for many values at the same time.
func (sh *shard[T]) stepBatchLocked(m *moment, budget *int) bool {
	c, ok := sh.expireLocked(m, budget)
	if !ok {
		return false
	}
	b := sh.takeBatchLocked()
	for ok {
		b.items = append(b.items, Expired[T]{ID: c.id, Due: sh.dueTime(&c), Late: c.late})
		b.due = append(b.due, c)
		if len(b.items) == batchSize || *budget <= 0 {
			break
		}
		c, ok = sh.expireLocked(m, budget)
	}
	for i := range b.due {
		b.items[i].Value = b.due[i].take()
	}
	clear(b.due)
	b.due = b.due[:0]
	sh.limit.free(len(b.items))
	number := sh.beginLocked(len(b.items))
	sh.unlocked(func() {
		sh.handOver(number, len(b.items), func() { sh.callBatch(number, b) }, nil)
	})
	return true
}

// dueTime returns the deadline of an expired timer in wall-clock time. For a
// timer of the monotonic clock, it adds the tick to the wall clock's reading at
// the base.
func (sh *shard[T]) dueTime(c *dueTimer[T]) time.Time {
	if c.wall {
		return sh.wallInstant(c.tick)
	}
	return sh.base.Add(sh.instant(c.tick))
}

func (sh *shard[T]) callBatch(number uint64, b *batch[T]) {
	sh.begun(number)
	defer sh.finished()
	defer sh.giveBatch(b)
	if sh.onPanic != nil {
		defer sh.recoverPanic()
	}
	sh.fireBatch(b.items)
}
