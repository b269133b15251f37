package wheel

import (
	"container/heap"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	modelOps  = flag.Int("model.ops", 0, "operations of the model test; 0: 10^7; 10^6 under the race detector, else 300,000 in the short form")
	modelSeed = flag.Uint64("model.seed", 1, "seed of the model test")
)

// sortedHeap is the model: the simplest implementation that fires timers in the
// order of their ticks.
type sortedHeap struct {
	now   uint64
	items byTick
	byID  map[ID]*modelTimer
}

type modelTimer struct {
	id   ID
	when uint64
	v    int
	at   int // in the heap
}

func newSortedHeap(now uint64) *sortedHeap {
	return &sortedHeap{now: now, byID: make(map[ID]*modelTimer)}
}

func (m *sortedHeap) add(id ID, when uint64, v int) {
	t := &modelTimer{id: id, when: when, v: v}
	m.byID[id] = t
	heap.Push(&m.items, t)
}

func (m *sortedHeap) reset(id ID, when uint64) bool {
	t, ok := m.byID[id]
	if ok {
		t.when = when
		heap.Fix(&m.items, t.at)
	}
	return ok
}

func (m *sortedHeap) remove(id ID) (int, bool) {
	t, ok := m.byID[id]
	if !ok {
		return 0, false
	}
	heap.Remove(&m.items, t.at)
	delete(m.byID, id)
	return t.v, true
}

// min returns the earliest tick; a tick in the past counts as now.
func (m *sortedHeap) min() (uint64, bool) {
	if len(m.items) == 0 {
		return 0, false
	}
	return max(m.items[0].when, m.now), true
}

type byTick []*modelTimer

func (h byTick) Len() int           { return len(h) }
func (h byTick) Less(i, j int) bool { return h[i].when < h[j].when }
func (h byTick) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *byTick) Push(x any)        { t := x.(*modelTimer); t.at = len(*h); *h = append(*h, t) }
func (h *byTick) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}

// coreTrial applies the same operations to a Core and to the model, and
// compares all visible results.
type coreTrial struct {
	t     testing.TB
	core  *Core[int]
	model *sortedHeap
	ids   []ID // handed out, pending or stale
	seq   int
}

func newCoreTrial(t testing.TB, now uint64) *coreTrial {
	return &coreTrial{t: t, core: NewCore[int](now), model: newSortedHeap(now)}
}

func (c *coreTrial) add(when uint64) {
	c.seq++
	id, err := c.core.Add(when, c.seq)
	if id == 0 || err != nil {
		c.t.Fatalf("Add = %x, %v", id, err)
	}
	if c.model.byID[id] != nil {
		c.t.Fatalf("ID %x given twice", id)
	}
	c.model.add(id, c.core.clamp(when), c.seq)
	if len(c.ids) < 4096 {
		c.ids = append(c.ids, id)
	} else {
		c.ids[c.seq%4096] = id
	}
}

func (c *coreTrial) pick(r uint64) ID {
	if len(c.ids) == 0 {
		return ID(r)
	}
	return c.ids[r%uint64(len(c.ids))]
}

func (c *coreTrial) reset(id ID, when uint64) {
	if got, want := c.core.Reset(id, when), c.model.reset(id, c.core.clamp(when)); got != want {
		c.t.Fatalf("Reset(%x, %d) = %v, want %v", id, when, got, want)
	}
}

func (c *coreTrial) remove(id ID) {
	v, ok := c.core.Remove(id)
	if want, wantOK := c.model.remove(id); v != want || ok != wantOK {
		c.t.Fatalf("Remove(%x) = %d, %v, want %d, %v", id, v, ok, want, wantOK)
	}
}

// advance checks each firing: it was pending, it carries its value, it is due,
// and no earlier timer is left. inside, if not nil, is called in some of the
// callbacks.
func (c *coreTrial) advance(now uint64, limit int, inside func()) {
	if min(now, maxTick-1) < c.core.ticks.cursor {
		now = c.core.ticks.cursor
	}
	fired := c.core.Advance(now, limit, func(id ID, v int) {
		t := c.model.byID[id]
		switch {
		case t == nil:
			c.t.Fatalf("fired %x, which is not pending", id)
		case t.v != v:
			c.t.Fatalf("fired %x with value %d, want %d", id, v, t.v)
		case t.when > now:
			c.t.Fatalf("fired tick %d at %d", t.when, now)
		}
		c.model.now = max(c.model.now, t.when)
		if earliest := c.model.items[0].when; earliest < t.when {
			c.t.Fatalf("fired tick %d before %d", t.when, earliest)
		}
		c.model.remove(id)
		if inside != nil {
			inside()
		}
	})
	if fired > limit {
		c.t.Fatalf("Advance fired %d, limit %d", fired, limit)
	}
	if fired < limit {
		c.model.now = max(c.model.now, min(now, maxTick-1))
		if earliest, ok := c.model.min(); ok && c.model.items[0].when <= now && now < maxTick {
			c.t.Fatalf("Advance(%d) left tick %d", now, earliest)
		}
	}
	c.check()
}

func (c *coreTrial) check() {
	if got, want := c.core.Len(), len(c.model.items); got != want {
		c.t.Fatalf("Len = %d, want %d", got, want)
	}
	next, ok := c.core.Next()
	earliest, wantOK := c.model.min()
	if ok != wantOK || ok && next > earliest {
		c.t.Fatalf("Next = %d, %v; earliest is %d, %v", next, ok, earliest, wantOK)
	}
}

// distance returns a random number of ticks. Every order of magnitude is
// equally likely.
func distance(r *rand.Rand, magnitudes int) uint64 {
	return r.Uint64() & (1<<r.IntN(magnitudes+1) - 1)
}

func (c *coreTrial) step(r *rand.Rand, magnitudes int) {
	now := c.model.now
	when := now + distance(r, magnitudes)
	switch op := r.IntN(100); {
	case op < 40:
		c.add(when)
	case op < 42:
		c.add(now - min(now, distance(r, magnitudes)))
	case op < 60:
		c.reset(c.pick(r.Uint64()), when)
	case op < 85:
		c.remove(c.pick(r.Uint64()))
	case op < 86:
		c.remove(ID(r.Uint64()))
	default:
		limit := 1 << 30
		if op < 90 {
			limit = r.IntN(5)
		}
		var inside func()
		if op < 93 {
			calls := 0
			inside = func() {
				if calls++; calls > 3 {
					return
				}
				switch r.IntN(3) {
				case 0:
					c.add(c.model.now + distance(r, 8) - min(c.model.now, 3))
				case 1:
					c.reset(c.pick(r.Uint64()), c.model.now+distance(r, 8))
				case 2:
					c.remove(c.pick(r.Uint64()))
				}
			}
		}
		to := now + distance(r, magnitudes/2+2)
		if next, ok := c.core.Next(); ok && op >= 97 {
			verify(c.t, &c.core.ticks)
			to = next
		}
		c.advance(to, limit, inside)
	}
}

func modelOperations() int { return howMany(*modelOps, 10_000_000, 1_000_000, 300_000) }

// A long run, `go test -v -run TestCoreAgreesWithASortedHeap -model.ops
// 1000000000`, logs its progress.
func TestCoreAgreesWithASortedHeap(t *testing.T) {
	total := modelOperations()
	trials := max(50, total/2_000_000)
	begun := time.Now()
	for trial := range trials {
		seed := *modelSeed*1000 + uint64(trial)
		r := rand.New(rand.NewPCG(seed, 7))
		magnitudes := []int{4, 8, 12, 20, 28, 32, 36, 40, 46, 48}[trial%10]
		c := newCoreTrial(t, distance(r, 44))
		for range total / trials {
			c.step(r, magnitudes)
		}
		c.advance(maxTick-1, 1<<30, nil)
		for _, item := range slices.Clone(c.model.items) { // timers for the tick that is never reached
			c.remove(item.id)
		}
		c.check()
		verifyEmpty(t, &c.core.ticks)
		if t.Failed() {
			t.Fatalf("seed %d, magnitudes %d", seed, magnitudes)
		}
		if done := trial + 1; done%50 == 0 {
			t.Logf("-model.seed %d: %d operations in %v agree", *modelSeed, done*(total/trials), time.Since(begun).Round(time.Second))
		}
	}
}

// verifyEmpty checks that an empty hierarchy holds no block and no busy slot.
func verifyEmpty(t testing.TB, h *hierarchy) {
	t.Helper()
	if h.pending != 0 || h.busy != [levels]uint64{} || len(h.queue) != 0 {
		t.Fatalf("not empty: %d pending, busy %x, %d in the queue", h.pending, h.busy, len(h.queue))
	}
	for _, s := range h.blocks.allocator.chunks {
		if s.used != 0 && h.blocks.chunks != nil {
			t.Fatalf("%d blocks still in use", s.used)
		}
	}
}

// verify checks the invariants that the comments of hierarchy name.
func verify(t testing.TB, h *hierarchy) {
	t.Helper()
	for slot := range uint(levels * slotCount) {
		l := &h.slots[slot]
		level, bit := slot>>slotBits, uint64(1)<<(slot&slotMask)
		if busy := h.busy[level]&bit != 0; busy != (l.n > 0) {
			t.Fatalf("slot %d: busy %v, %d entries", slot, busy, l.n)
		}
		if l.n > 0 && h.startOf(slot) <= h.cursor {
			t.Fatalf("slot %d starts at %d, the cursor is %d", slot, h.startOf(slot), h.cursor)
		}
		if l.n > 0 && h.startOf(slot) < h.soonest {
			t.Fatalf("slot %d starts at %d, soonest is %d", slot, h.startOf(slot), h.soonest)
		}
		if l.stale > l.n {
			t.Fatalf("slot %d: %d stale of %d", slot, l.stale, l.n)
		}
	}
}
