package wheel

import (
	"testing"
)

func TestEveryClockStartsAndCrossesAtEveryPowerOfTwo(t *testing.T) {
	for k := range 47 {
		for _, now := range []uint64{1<<k - 1, 1 << k, 1<<k + 1} {
			c := newCoreTrial(t, now)
			for level := range levels {
				for _, d := range []uint64{0, 1, 2, 63, 64, 65} {
					if d<<(6*level) < 1<<45 {
						c.add(now + d<<(6*level))
						c.add(now + d<<(6*level) + 1)
						c.add(now + max(d<<(6*level), 1) - 1)
					}
				}
			}
			for c.core.Len() > 0 {
				next, _ := c.core.Next()
				c.advance(next, 1000, nil)
				verify(t, &c.core.ticks)
			}
		}
	}
}

// From the last slot of a level to the first slot of the next level: every
// distance within the level's span.
func TestTheWholeSpanOfALevelFromItsLastSlot(t *testing.T) {
	for level := range 3 {
		width := uint64(1) << (6 * level)
		now := 64*width - 1
		stride := uint64(1)
		if level == 2 && testing.Short() {
			stride = 61 // each slot of both lower levels comes up
		}
		c := newCoreTrial(t, now)
		for d := uint64(0); d <= 64*width; d += stride {
			c.add(now + d)
		}
		c.add(now + 64*width)
		for c.core.Len() > 0 {
			c.advance(c.model.now+1, 1<<20, nil)
		}
	}
}

func TestAHugeSlotDoesNotDelayLaterSlots(t *testing.T) {
	for _, when := range []uint64{100, 64 * 64} { // due directly, and after a cascade
		nodes := newTable()
		h := newHierarchy(&nodes, 0, 0, turnLength)
		add := func(tick uint64) (index uint32) {
			index, n, generation := nodes.take()
			h.add(index, n, generation, tick)
			return index
		}
		for range 50 * turnLength {
			add(when)
		}
		later := add(2 * when)
		for expired := 1; ; expired++ {
			if expired > 3*turnLength {
				t.Fatalf("tick %d: the later timer still waits after %d others", when, expired)
			}
			budget := stepBudget
			index, _, ok := h.expire(2*when, &budget)
			if !ok && budget > 0 {
				t.Fatal("lost")
			}
			if ok && index == later {
				break
			}
		}
	}
}

func TestExpireExaminesAtMostItsBudget(t *testing.T) {
	nodes := newTable()
	h := newHierarchy(&nodes, 0, 0, turnLength)
	const n = 100_000
	for range n {
		index, node, generation := nodes.take()
		h.add(index, node, generation, 64*64*64)
	}
	steps := 0
	for fired := 0; fired < n; steps++ {
		budget := 1000
		if index, _, ok := h.expire(1<<20, &budget); ok {
			nodes.free(index)
			h.leave()
			fired++
		} else if budget > 0 {
			t.Fatal("lost")
		}
		if budget < 0 {
			t.Fatalf("budget overdrawn by %d", -budget)
		}
	}
	verifyEmpty(t, &h)
}

// An entry holds only the lower bits of its tick. Here the lower bits of the
// old deadline are greater than those of the new one.
func TestResetAcrossAnEpochIsPunctual(t *testing.T) {
	for _, first := range []uint64{placedMask, 1<<31 + placedMask, 1<<40 + placedMask} {
		for _, second := range []uint64{first + 1, first + 1 + 1<<placedBits, first + 1 + 1<<33} {
			c := newCoreTrial(t, 5)
			c.add(first)
			c.reset(c.ids[0], second)
			c.advance(second-1, 10, nil)
			c.advance(second, 10, nil)
			if c.core.Len() != 0 {
				t.Errorf("moved from %d to %d: not fired", first, second)
			}
		}
	}
}

// An entry in a slot of one clock may by accident match a node that is now used
// by the other clock.
func TestAnEntryOfTheOtherClockExpiresNoTimer(t *testing.T) {
	nodes := newTable()
	mono, wall := newHierarchy(&nodes, 0, 0, 0), newHierarchy(&nodes, 1_000_000, wallBit, 0)
	index, n, generation := nodes.take()
	mono.add(index, n, generation, 5000)
	wall.place(entryOf(index, n.place), 1_000_001)
	budget := 100
	if _, _, ok := wall.expire(2_000_000, &budget); ok {
		t.Error("the wall clock expired a timer of the monotonic one")
	}
	if got, _, ok := mono.expire(5000, &budget); !ok || got != index {
		t.Error("the timer is lost")
	}
}

func TestStaleIDsAreInertEvenWhenGenerationsRunOut(t *testing.T) {
	c := NewCore[int](0)
	first := must(c.Add(10, 1))
	c.Remove(first)
	n := c.nodes.at(0)
	// As if the node had been used 2^28 - 3 times.
	n.state.Store(liveState(0, maxGeneration-2) &^ stateLive)
	n.meta.Store(makeMeta(maxGeneration-2, 0))
	seen := map[ID]bool{first: true}
	for i := range 2000 {
		id := must(c.Add(10, i))
		if id == 0 || seen[id] {
			t.Fatalf("ID %x given twice", id)
		}
		for old := range seen {
			if _, ok := c.Remove(old); ok || c.Reset(old, 20) {
				t.Fatalf("stale ID %x touched another timer", old)
			}
			break
		}
		seen[id] = true
		c.Remove(id)
	}
	if id := must(c.Add(10, 0)); id.index() == 0 {
		t.Error("a node whose generations are used up was used again")
	}
}

func TestAFreedChunkGoesOnAboveItsHighestGeneration(t *testing.T) {
	c := NewCore[int](0)
	highest := make(map[uint32]uint32) // per chunk
	for range 5 {
		var ids []ID
		for i := range 3 * chunkCells {
			ids = append(ids, must(c.Add(uint64(i), i)))
		}
		for _, id := range ids {
			chunk := id.index() >> chunkShift
			if id.generation() > highest[chunk]+1 {
				t.Fatalf("chunk %d: generation %d after %d", chunk, id.generation(), highest[chunk])
			}
		}
		for _, id := range ids {
			c.Remove(id)
			chunk := id.index() >> chunkShift
			highest[chunk] = max(highest[chunk], id.generation())
		}
		if _, ok := c.Remove(ids[0]); ok { // its chunk may be gone
			t.Fatal("removed twice")
		}
		held := 0
		for _, nodes := range c.nodes.chunks {
			if nodes != nil {
				held++
			}
		}
		if held > 1 {
			t.Fatalf("%d chunks held by an empty Core", held)
		}
	}
}
