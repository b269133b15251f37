package measure

import (
	"fmt"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
)

// throughput repeats one operation among N standing timers of 5 to 60 minutes.
func throughput[H any](j record.Job, open opener[H]) (record.Values, error) {
	timers := open(counters.New(0, 0))
	defer timers.Close()
	handles := stand(timers, j.N)

	crew := newCrew(j.Callers, timers, handles)
	m := startMeter()
	done, refused := crew.work(operations[H]()[j.Part], j.Over)
	values := m.perOperation(done)
	if refused > 0 {
		return nil, fmt.Errorf("a standing timer was missing in %d of %d operations", refused, done)
	}
	return values, allStand(timers, handles, j.N)
}

// stand sets n timers with random delays.
func stand[H any](timers peer.Timers[H], n int) []H {
	handles := make([]H, n)
	withoutGC(func() {
		for i := range handles {
			handles[i] = timers.Nop(delay(i))
		}
	})
	return handles
}

// allStand checks that n timers are pending, if the implementation reports
// their number. It also checks that the handles can be removed, or about a
// thousand of them.
func allStand[H any](timers peer.Timers[H], handles []H, n int) error {
	const samples = 1000
	removed := 0
	for i := 0; i < len(handles); i += max(1, len(handles)/samples) {
		if !timers.Remove(handles[i]) {
			return fmt.Errorf("standing timer %d is missing", i)
		}
		removed++
	}
	if pending, known := timers.Pending(); known && pending != n-removed {
		return fmt.Errorf("%d timers are pending, want %d", pending, n-removed)
	}
	return nil
}

// worker is one of the goroutines that run operations in parallel. It has its
// own part of the standing timers.
type worker[H any] struct {
	timers  peer.Timers[H]
	handles []H
	random  random
	done    int // operations
	refused int // operations that returned false
}

type crew[H any] []*worker[H]

func newCrew[H any](n int, timers peer.Timers[H], handles []H) crew[H] {
	c := make(crew[H], max(1, n))
	for i := range c {
		c[i] = &worker[H]{
			timers:  timers,
			handles: handles[i*len(handles)/len(c) : (i+1)*len(handles)/len(c)],
			random:  random(i + 1),
		}
	}
	return c
}

// work repeats an operation for the time window. It returns the numbers of all
// workers together.
func (c crew[H]) work(operation func(*worker[H]), window time.Duration) (done, refused int) {
	var wg sync.WaitGroup
	start := time.Now()
	for _, w := range c {
		wg.Go(func() {
			for time.Since(start) < window {
				operation(w)
			}
		})
	}
	wg.Wait()
	for _, w := range c {
		done += w.done
		refused += w.refused
	}
	return done, refused
}

// stint is the number of operations between two readings of the clock.
const stint = 64

func operations[H any]() map[string]func(*worker[H]) {
	return map[string]func(*worker[H]){
		AddRemove: (*worker[H]).addRemove,
		Heartbeat: (*worker[H]).heartbeat,
		Replace:   (*worker[H]).replace,
	}
}

func (w *worker[H]) count(ok bool) {
	w.done++
	if !ok {
		w.refused++
	}
}

// addRemove stands for a request that ends before its timeout. It sets a timer
// and removes it at once.
func (w *worker[H]) addRemove() {
	for range stint {
		w.count(w.timers.Remove(w.timers.Nop(delay(w.done))))
	}
}

// heartbeat stands for a session that sends a message. It extends a random
// timer.
func (w *worker[H]) heartbeat() {
	for range stint {
		h := w.handles[w.random.below(len(w.handles))]
		w.count(w.timers.Extend(h, w.later()))
	}
}

// later returns a delay that grows by a millisecond each time. An
// implementation may skip an extension that does not reach the next tick, so
// each one must reach it.
func (w *worker[H]) later() time.Duration {
	return time.Hour + time.Duration(w.done)*time.Millisecond
}

// replace stands for a retry with a new time. It removes a random timer and
// sets another one.
func (w *worker[H]) replace() {
	for range stint {
		h := &w.handles[w.random.below(len(w.handles))]
		w.count(w.timers.Remove(*h))
		*h = w.timers.Nop(delay(w.done))
	}
}
