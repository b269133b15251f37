package contender

import (
	"container/list"
	"time"
)

// ring is the wheel of the articles: a ring of lists, a map from keys to
// elements, and a goroutine that owns both. openRing starts it; Close stops it
// and waits. Here keys are numbers. With strings it would cost more.
type ring struct {
	add    chan *task
	remove chan uint32
	quit   chan struct{}
	gone   chan struct{}

	// The goroutine has the fields below.
	slots    []*list.List
	now      int // the slot of the next tick
	elements map[uint32]*list.Element

	conns conns
}

type task struct {
	key    uint32
	delay  time.Duration
	slot   int
	rounds int // turns of the ring that it still has to wait
	call   func()
}

const (
	ringSlots = 64 // the next power of two above the timeout, so no task has to wait for a turn
	ringTick  = time.Second / speed
)

func openRing(c conns) Timeouts {
	r := &ring{
		add: make(chan *task), remove: make(chan uint32), quit: make(chan struct{}), gone: make(chan struct{}),
		elements: map[uint32]*list.Element{}, conns: c,
	}
	for range ringSlots {
		r.slots = append(r.slots, list.New())
	}
	go r.run()
	return r
}

func (r *ring) Open(i uint32) { r.add <- &task{key: i, delay: timeout, call: r.conns[i].end} }

func (r *ring) Heartbeat(i uint32) {
	r.remove <- i
	r.Open(i)
}

func (r *ring) Close() {
	close(r.quit)
	<-r.gone
}

func (r *ring) run() {
	defer close(r.gone)
	tick := time.NewTicker(ringTick)
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

func (r *ring) put(t *task) {
	ticks := int(t.delay / ringTick)
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
