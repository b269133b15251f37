package wheel

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// keyedFates records the fate of each value that was ever set for one of a few
// keys. A value identifies the call that set it, and its key.
type keyedFates struct {
	t     *testing.T
	k     *Keyed[int, int]
	fates []atomic.Bool // by number of the value: it has ended
	next  atomic.Int64  // the number of the next value

	// Counts of values: set, replaced by a Set, and ended in another way.
	set, replaced, ended atomic.Int64
}

const fatedKeys = 7

func newKeyedFates(t *testing.T, cfg Config, values int) *keyedFates {
	b := &keyedFates{t: t, fates: make([]atomic.Bool, values)}
	b.k = NewKeyed(cfg, b.fire)
	return b
}

// value returns a new value for this key.
func (b *keyedFates) value(key int) int { return int(b.next.Add(1))*fatedKeys + key }

func (b *keyedFates) end(key, v int) {
	if v%fatedKeys != key {
		b.t.Errorf("value %d came with key %d", v, key)
	}
	b.ended.Add(1)
	if b.fates[v/fatedKeys].Swap(true) {
		b.t.Errorf("value %d has ended twice", v)
	}
}

func (b *keyedFates) fire(key, v int) {
	b.end(key, v)
	if v/fatedKeys%4 == 0 { // Set during its own firing
		b.setOne(key, time.Millisecond)
	}
}

func (b *keyedFates) setOne(key int, d time.Duration) {
	v := b.value(key)
	if v/fatedKeys >= len(b.fates) {
		return
	}
	if replaced, err := b.k.Set(key, d, v); err == nil {
		if b.set.Add(1); replaced {
			b.replaced.Add(1)
		}
	}
}

func (b *keyedFates) work(r *rand.Rand, operations int) {
	for range operations {
		key := r.IntN(fatedKeys)
		d := time.Duration(r.IntN(2000)) * time.Microsecond
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			b.setOne(key, d)
		case 4, 5:
			if set, err := b.k.SetIfAbsent(key, d, b.value(key)); set && err == nil {
				b.set.Add(1)
			}
		case 6, 7:
			b.k.Move(key, d)
		case 8, 9:
			if v, ok := b.k.Remove(key); ok {
				b.end(key, v)
			}
		case 10:
			if v, left, ok := b.k.Get(key); ok && (v%fatedKeys != key || left > time.Second) {
				b.t.Errorf("Get(%d) = %d, %v", key, v, left)
			}
		case 11:
			b.look(r)
		}
	}
}

// look reads all keys, and sometimes drains some.
func (b *keyedFates) look(r *rand.Rand) {
	if r.IntN(20) == 0 {
		for key, v := range b.k.Drain() {
			if b.end(key, v); r.IntN(4) == 0 {
				return
			}
		}
	}
	for key, v := range b.k.All() {
		if v%fatedKeys != key {
			b.t.Errorf("All yields %d, %d", key, v)
		}
	}
}

// Every value that was set is replaced, fired, removed or drained, exactly
// once, while 32 goroutines use a few keys.
func TestEveryValueOfAKeyEndsOnceUnderContention(t *testing.T) {
	pool := NewPool(PoolConfig{Workers: 2, Queue: 4})
	for _, cfg := range []Config{
		{Shards: 1, Run: Inline},
		{Shards: 4},
		{Shards: 2, MaxPending: 3, Run: pool},
	} {
		const workers = 32
		each := raceOperations() / 8 / workers
		b := newKeyedFates(t, cfg, 4*workers*each)
		var wg sync.WaitGroup
		for worker := range workers {
			wg.Go(func() { b.work(rand.New(rand.NewPCG(uint64(worker), 5)), each) })
		}
		wg.Wait()
		for range 10_000 { // until the values that set themselves again have ended
			if b.k.Len() == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		fatal.If(t, b.k.Shutdown(t.Context()))
		for key, v := range b.k.Drain() {
			b.end(key, v)
		}
		s, set, replaced := checkKeys(t, b.k), b.set.Load(), b.replaced.Load()
		if set != replaced+b.ended.Load() || s.Pending != 0 || int64(s.Added) != set-replaced {
			t.Errorf("%d set, %d replaced, %d ended; %d added, %d pending", set, replaced, b.ended.Load(), s.Added, s.Pending)
		}
	}
}
