package wheel

import "time"

// Expired is a timer that has fired, as NewBatch's callback gets it.
type Expired[T any] struct {
	ID    ID
	Value T
	Due   time.Time     // the deadline, rounded up to a tick
	Late  time.Duration // by how much it was handed over later than that
}

// batchSize is the largest number of timers that are handed over in one call.
const batchSize = 256

// batch is the slice of one call. It goes back to its shard when the call has returned.
type batch[T any] struct {
	items []Expired[T]
}

func (sh *shard[T]) takeBatchLocked() *batch[T] {
	if k := len(sh.spare); k > 0 {
		b := sh.spare[k-1]
		sh.spare = sh.spare[:k-1]
		return b
	}
	return new(batch[T])
}

// giveBatch takes a batch back, without the values.
func (sh *shard[T]) giveBatch(b *batch[T]) {
	clear(b.items)
	b.items = b.items[:0]
	sh.mu.Lock()
	if len(sh.spare) < 4 {
		sh.spare = append(sh.spare, b)
	}
	sh.mu.Unlock()
}

// stepBatchLocked claims a batch and hands it over. It reports whether there may be more.
func (sh *shard[T]) stepBatchLocked(m moment, budget *int) (more bool) {
	var b *batch[T]
	for *budget > 0 && (b == nil || len(b.items) < batchSize) {
		c, ok := sh.claimLocked(m, budget)
		if !ok {
			break
		}
		if b == nil {
			b = sh.takeBatchLocked()
		}
		b.items = append(b.items, sh.expireLocked(c))
	}
	if b == nil {
		if *budget <= 0 {
			sh.unlocked(func() {})
			return true
		}
		return false
	}
	number := sh.beginLocked(len(b.items))
	sh.unlocked(func() { sh.handOverBatch(number, b) })
	return true
}

func (sh *shard[T]) expireLocked(c claimed) Expired[T] {
	id := makeID(sh.number, sh.nodes.at(c.index).generation(), c.index)
	due := sh.dueTime(c)
	return Expired[T]{ID: id, Value: sh.endLocked(c), Due: due, Late: c.late}
}

// dueTime returns a claimed timer's deadline by the wall clock: its own if it was set by that clock, otherwise as the
// clock stood when the shard began.
func (sh *shard[T]) dueTime(c claimed) time.Time {
	if c.home == sh.wall {
		return sh.wallInstant(c.tick)
	}
	return sh.base.Add(sh.instant(c.tick))
}

func (sh *shard[T]) handOverBatch(number uint64, b *batch[T]) {
	sh.handOver(number, len(b.items), func() { sh.callBatch(number, b) })
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
