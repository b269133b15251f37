package contender

import (
	"container/list"
	"sync"
	"time"
)

// ring is the wheel of the articles: a ring of lists, and a map from keys to
// elements. Here keys are numbers. With strings it would cost more.
type ring struct {
	*server
	slots    [ringSlots]*list.List
	now      int // the slot of the next tick
	elements map[uint32]*list.Element
}

// ringSlots is the next power of two above the seconds of a timeout, so that no
// task waits for a turn.
const ringSlots = 64

type task struct {
	key    uint32
	delay  time.Duration
	slot   int
	rounds int // turns of the ring that it still has to wait
	call   func()
}

func newRing(s *server) *ring {
	r := &ring{server: s, elements: map[uint32]*list.Element{}}
	for i := range r.slots {
		r.slots[i] = list.New()
	}
	return r
}

// task returns the task that ends a connection.
func (r *ring) task(i uint32) *task { return &task{key: i, delay: r.timeout, call: r.conns[i].end} }

func (r *ring) put(t *task) {
	ticks := int(t.delay / r.second())
	t.slot, t.rounds = (r.now+ticks)%ringSlots, ticks/ringSlots
	r.elements[t.key] = r.slots[t.slot].PushBack(t)
}

func (r *ring) take(key uint32) {
	if e, ok := r.elements[key]; ok {
		r.slots[e.Value.(*task).slot].Remove(e)
		delete(r.elements, key)
	}
}

func (r *ring) tick() {
	var next *list.Element
	for e := r.slots[r.now].Front(); e != nil; e = next {
		next = e.Next()
		t := e.Value.(*task)
		if t.rounds > 0 {
			t.rounds--
			continue
		}
		r.take(t.key)
		go t.call()
	}
	r.now = (r.now + 1) % ringSlots
}

// sentRing is a ring that belongs to a goroutine. openRing starts it; Close
// stops it and waits.
type sentRing struct {
	*ring
	add    chan *task
	remove chan uint32
	quit   chan struct{}
	gone   chan struct{}
}

func openRing(s *server) Timeouts {
	r := &sentRing{newRing(s), make(chan *task), make(chan uint32), make(chan struct{}), make(chan struct{})}
	go r.run()
	return r
}

func (r *sentRing) Open(i uint32) { r.add <- r.task(i) }

func (r *sentRing) Heartbeat(i uint32) {
	r.remove <- i
	r.Open(i)
}

func (r *sentRing) Close() {
	close(r.quit)
	<-r.gone
}

func (r *sentRing) run() {
	defer close(r.gone)
	tick := time.NewTicker(r.second())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.tick()
		case t := <-r.add:
			r.put(t)
		case key := <-r.remove:
			r.take(key)
		case <-r.quit:
			return
		}
	}
}

// lockedRing is a ring under a lock.
type lockedRing struct {
	mu sync.Mutex // guards the ring
	*ring
	ticking
}

func openLockedRing(s *server) Timeouts {
	r := &lockedRing{ring: newRing(s)}
	r.ticking = startTicking(s.second(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tick()
	})
	return r
}

func (r *lockedRing) Open(i uint32) {
	t := r.task(i)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put(t)
}

func (r *lockedRing) Heartbeat(i uint32) {
	t := r.task(i)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(i)
	r.put(t)
}
