package wheel

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// checkKeys checks that the counters add up, and that the key index of each
// shard leads to exactly the shard's pending timers.
func checkKeys[K comparable, V any](t testing.TB, k *Keyed[K, V]) Stats {
	t.Helper()
	for _, sh := range k.wheel.shards {
		sh.mu.Lock()
		checkIndex(t, k, sh)
		sh.mu.Unlock()
	}
	return checkCounters(t, k.wheel)
}

func checkIndex[K comparable, V any](t testing.TB, k *Keyed[K, V], sh *shard[pair[K, V]]) {
	t.Helper()
	listed := 0
	for i := range k.indexes[sh.number] {
		s := &k.indexes[sh.number][i]
		checkSegment(t, s)
		listed += s.used
	}
	found := 0
	for index, n := sh.nodes.firstLive(0); n != nil; index, n = sh.nodes.firstLive(index + 1) {
		key := sh.values.at(index).key
		hash, shard := k.place(key)
		if !equal(key, key) {
			continue
		}
		at, ok := k.findLocked(sh, hash, key)
		if shard != sh || !ok || at != index {
			t.Errorf("key %v of node %d is found at %d, %v", key, index, at, ok)
		}
		found++
	}
	if found != listed {
		t.Errorf("%d keys in the index, %d pending", listed, found)
	}
}

func checkSegment(t testing.TB, s *segment) {
	t.Helper()
	n := 0
	for slot, tag := range s.slots {
		if tag == 0 {
			continue
		}
		n++
		for at := s.start(uint64(tag)); at != slot; at = s.after(at) {
			if s.slots[at] == 0 {
				t.Fatalf("a gap at %d before slot %d, start %d", at, slot, s.start(uint64(tag)))
			}
		}
	}
	if n != s.used || len(s.slots) > 0 && (n > len(s.slots)*3/4 || len(s.slots) > minSlots && n < len(s.slots)/4) {
		t.Fatalf("%d tags, %d counted, %d slots", n, s.used, len(s.slots))
	}
}

// A segment finds the tags that it holds and no others, however badly the
// hashes collide.
func TestASegmentAgreesWithAMap(t *testing.T) {
	for _, mask := range []uint64{1<<64 - 1, 0xF << 60, 0xFF << 32, 1 << 63, 0} {
		r := rand.New(rand.NewPCG(1, mask))
		var s segment
		model := make(map[tag]bool)
		for range 5_000 {
			index := uint32(r.IntN(1 << r.IntN(10)))
			x := makeTag(uint64(index)*0x9E3779B97F4A7C15&mask|1<<tagHashShift, index)
			if x.index() != index {
				t.Fatalf("index %d comes out as %d", index, x.index())
			}
			if model[x] {
				s.remove(x)
			} else {
				s.insert(x)
			}
			model[x] = !model[x]
			if r.IntN(20) == 0 {
				checkSegment(t, &s)
			}
		}
		held := make(map[tag]bool)
		for _, x := range s.slots {
			if x != 0 {
				held[x] = true
			}
		}
		for x, in := range model {
			if held[x] != in {
				t.Errorf("mask %x: tag %x is held: %v, want %v", mask, x, held[x], in)
			}
		}
	}
}

// Hashes that agree in all bits that a tag keeps: only the keys differ.
func TestKeysWithTheSameHashAreDistinct(t *testing.T) {
	k := NewKeyed(Config{Shards: 1, Run: Inline}, func(int, int) {})
	defer k.Close()
	sh := k.wheel.shards[0]
	now := sh.now()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	const hash = 0xABCDEF << 32
	for key := range 100 {
		fatal.If(t, k.addLocked(sh, hash, &sh.ticks, sh.after(now, time.Hour), pair[int, int]{-key, key}))
	}
	for key := range 100 {
		index, ok := k.findLocked(sh, hash, key)
		if !ok || sh.values.at(index).value != -key {
			t.Fatalf("key %d: %v", key, ok)
		}
	}
	if _, ok := k.findLocked(sh, hash, 100); ok {
		t.Error("found a key that is not there")
	}
}
