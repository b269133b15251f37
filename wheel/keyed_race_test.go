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
// keys. A value contains its number, which identifies the call that set it.
type keyedFates struct {
	t        *testing.T
	k        *Keyed[int, int]
	keys     int
	set      []atomic.Int64 // by key: successful Sets and SetIfAbsents
	replaced []atomic.Int64 // by key: of these, those that replaced
	ended    []atomic.Int64 // by key: fired, removed, drained
	fates    []atomic.Bool  // by value: it has ended
	next     atomic.Int64   // the next value
}

func newKeyedFates(t *testing.T, cfg Config, keys, values int) *keyedFates {
	b := &keyedFates{
		t: t, keys: keys, fates: make([]atomic.Bool, values),
		set: make([]atomic.Int64, keys), replaced: make([]atomic.Int64, keys), ended: make([]atomic.Int64, keys),
	}
	b.k = NewKeyed(cfg, b.fire)
	return b
}

// value returns a new value for this key.
func (b *keyedFates) value(key int) int { return int(b.next.Add(1))*b.keys + key }

func (b *keyedFates) end(key, v int) {
	if v%b.keys != key {
		b.t.Errorf("value %d came with key %d", v, key)
	}
	b.ended[key].Add(1)
	if b.fates[v/b.keys].Swap(true) {
		b.t.Errorf("value %d has ended twice", v)
	}
}

func (b *keyedFates) fire(key, v int) {
	b.end(key, v)
	if v/b.keys%4 == 0 { // Set during its own firing
		b.setOne(key, time.Millisecond)
	}
}

func (b *keyedFates) setOne(key int, d time.Duration) {
	v := b.value(key)
	if v/b.keys >= len(b.fates) {
		return
	}
	replaced, err := b.k.Set(key, d, v)
	if err != nil {
		return
	}
	b.set[key].Add(1)
	if replaced {
		b.replaced[key].Add(1)
	}
}

func (b *keyedFates) work(r *rand.Rand, operations int) {
	for range operations {
		key := r.IntN(b.keys)
		d := time.Duration(r.IntN(2000)) * time.Microsecond
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			b.setOne(key, d)
		case 4, 5:
			v := b.value(key)
			if set, err := b.k.SetIfAbsent(key, d, v); set && err == nil {
				b.set[key].Add(1)
			}
		case 6, 7:
			b.k.Move(key, d)
		case 8, 9:
			if v, ok := b.k.Remove(key); ok {
				b.end(key, v)
			}
		case 10:
			if v, left, ok := b.k.Get(key); ok && (v%b.keys != key || left > time.Second) {
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
		if v%b.keys != key {
			b.t.Errorf("All yields %d, %d", key, v)
		}
	}
}

// check must be called when nothing is pending or under way.
func (b *keyedFates) check() {
	b.t.Helper()
	for key := range b.keys {
		if set, replaced, ended := b.set[key].Load(), b.replaced[key].Load(), b.ended[key].Load(); set != replaced+ended {
			b.t.Errorf("key %d: %d set, %d replaced, %d fired, removed or drained", key, set, replaced, ended)
		}
	}
	s := checkKeys(b.t, b.k)
	var set, replaced int64
	for key := range b.keys {
		set, replaced = set+b.set[key].Load(), replaced+b.replaced[key].Load()
	}
	if s.Pending != 0 || int64(s.Added) != set-replaced {
		b.t.Errorf("%d added, want %d; %d pending", s.Added, set-replaced, s.Pending)
	}
}

// Every value that was set is replaced, fired, removed or drained, exactly
// once, while 32 goroutines use a few keys.
func TestEveryValueOfAKeyEndsOnceUnderContention(t *testing.T) {
	pool := NewPool(2, 4, Block)
	for _, cfg := range []Config{
		{Shards: 1, Run: Inline},
		{Shards: 4},
		{Shards: 2, MaxPending: 3, Run: pool},
	} {
		const workers = 32
		each := raceOperations() / 8 / workers
		b := newKeyedFates(t, cfg, 7, 4*workers*each)
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
		b.check()
	}
}

// A deadline that was moved, replaced or removed does not fire. Each of these
// operations races against expiry at the same moment.
func TestAKeysOldDeadlineDoesNotFire(t *testing.T) {
	rounds := raceOperations() / 50
	for name, change := range map[string]func(k *Keyed[int, int]) bool{
		"Move": func(k *Keyed[int, int]) bool { return k.Move(1, time.Hour) },
		"Set": func(k *Keyed[int, int]) bool {
			replaced, _ := k.Set(1, time.Hour, 2)
			return replaced
		},
		"Remove": func(k *Keyed[int, int]) bool { _, ok := k.Remove(1); return ok },
	} {
		var fired [3]atomic.Int64
		k := NewKeyed(Config{Shards: 1, Tick: minTick, Run: Inline}, func(_, v int) { fired[v].Add(1) })
		changed := 0
		for range rounds {
			mustSet(t, k, 1, minTick, 1, false)
			for range rand.IntN(400) {
				k.Len()
			}
			if change(k) {
				changed++
			}
			k.Remove(1)
		}
		fatal.If(t, k.Shutdown(t.Context()))
		if got := int(fired[1].Load()); got+changed != rounds || fired[2].Load() != 0 {
			t.Errorf("%s: of %d timers %d were changed and %d fired", name, rounds, changed, got)
		}
	}
}
