package measure

import (
	"fmt"
	"sync"
	"time"

	"github.com/foliot/foliot/bench/peer"
	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/bench/tally"
)

// throughput measures one operation, again and again, among N standing timers of 5 to 60 minutes.
func throughput[H any](j record.Job, open opener[H]) (record.Values, error) {
	timers := open(tally.New(0, 0))
	defer timers.Close()
	handles := stand(timers, j.N)

	crew := newCrew(j.Goroutines, timers, handles)
	m := startMeter()
	done, refused := crew.work(operations[H]()[j.Workload], j.Window)
	values := m.perOperation(done)
	if refused > 0 {
		return nil, fmt.Errorf("%d of %d operations found a standing timer gone", refused, done)
	}
	return values, allStand(timers, handles, j.N)
}

// stand sets n timers, at random.
func stand[H any](timers peer.Timers[H], n int) []H {
	handles := make([]H, n)
	withoutGC(func() {
		for i := range handles {
			handles[i] = timers.Nop(delay(i))
		}
	})
	return handles
}

// allStand checks that n timers are pending, as far as the implementation says, and that handles, or a thousand of them, can
// be removed.
func allStand[H any](timers peer.Timers[H], handles []H, n int) error {
	const samples = 1000
	removed := 0
	for i := 0; i < len(handles); i += max(1, len(handles)/samples) {
		if !timers.Remove(handles[i]) {
			return fmt.Errorf("standing timer %d is gone", i)
		}
		removed++
	}
	if pending, known := timers.Pending(); known && pending != n-removed {
		return fmt.Errorf("%d timers are pending, want %d", pending, n-removed)
	}
	return nil
}

// worker is one of the goroutines that call at a time. It has a part of the standing timers for itself.
type worker[H any] struct {
	timers  peer.Timers[H]
	handles []H
	random  random
	done    int // operations
	refused int // of them, those that returned false
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

// work does an operation for as long as window, and returns how often all together did it.
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

// stint is how many operations share a look at the clock.
const stint = 64

func operations[H any]() map[string]func(*worker[H]) {
	return map[string]func(*worker[H]){
		AddRemove: (*worker[H]).addRemove,
		Heartbeat: (*worker[H]).heartbeat,
		Hot:       (*worker[H]).hot,
		Replace:   (*worker[H]).replace,
	}
}

func (w *worker[H]) count(ok bool) {
	w.done++
	if !ok {
		w.refused++
	}
}

// addRemove is a request that ends before its timeout: a timer is set and removed at once.
func (w *worker[H]) addRemove() {
	for range stint {
		w.count(w.timers.Remove(w.timers.Nop(delay(w.done))))
	}
}

// heartbeat is a session that is heard of: a random timer is put off.
func (w *worker[H]) heartbeat() {
	for range stint {
		h := w.handles[w.random.below(len(w.handles))]
		w.count(w.timers.Extend(h, w.later()))
	}
}

// hot is a busy connection: the same timer is put off each time.
func (w *worker[H]) hot() {
	for range stint {
		w.count(w.timers.Extend(w.handles[0], w.later()))
	}
}

// later is a millisecond more each time, so that each extension is one: an implementation could leave out those that do not
// reach the next tick.
func (w *worker[H]) later() time.Duration {
	return time.Hour + time.Duration(w.done)*time.Millisecond
}

// replace is a retry that is planned anew: a random timer is removed, and another one set.
func (w *worker[H]) replace() {
	for range stint {
		h := &w.handles[w.random.below(len(w.handles))]
		w.count(w.timers.Remove(*h))
		*h = w.timers.Nop(delay(w.done))
	}
}
