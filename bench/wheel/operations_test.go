package wheel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/counters"
	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/peer"
)

// crowd is an implementation with standing timers of 5 to 60 minutes.
type crowd[H any] struct {
	timers  peer.Timers[H]
	handles []H
	random  random
	done    int // operations
}

// stand sets the timers without the garbage collector.
func stand[H any](open opener[H]) *crowd[H] {
	c := &crowd[H]{timers: open(counters.New(0, 0)), handles: make([]H, metric.Either(1_000_000, 1000)), random: 1}
	percent := debug.SetGCPercent(-1)
	for i := range c.handles {
		c.handles[i] = c.timers.Nop(delay(i))
	}
	debug.SetGCPercent(percent)
	runtime.GC()
	return c
}

// repeat measures one operation among standing timers. It has one processor, so
// that the elapsed time is the whole cost, with garbage collection.
func repeat[H any](b *testing.B, open opener[H], operation func(*crowd[H]) bool) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := stand(open)
	defer c.timers.Close()
	for b.Loop() {
		if !operation(c) {
			b.Fatal("a standing timer is missing")
		}
		c.done++
	}
	if err := allStand(c.timers, c.handles, len(c.handles)); err != nil {
		b.Fatal(err)
	}
}

// setRemove stands for a request that ends before its timeout.
func (c *crowd[H]) setRemove() bool { return c.timers.Remove(c.timers.Nop(delay(c.done))) }

// postpone stands for a session that sends a message. It extends a random
// timer. Each delay is a millisecond longer than the last one: an
// implementation may skip an extension that does not reach the next tick.
func (c *crowd[H]) postpone() bool {
	h := c.handles[c.random.below(len(c.handles))]
	return c.timers.Extend(h, time.Hour+time.Duration(c.done)*time.Millisecond)
}

// replace stands for a retry with a new time. It removes a random timer and
// sets another one.
func (c *crowd[H]) replace() bool {
	h := &c.handles[c.random.below(len(c.handles))]
	removed := c.timers.Remove(*h)
	*h = c.timers.Nop(delay(c.done))
	return removed
}

// setRemoveParallel is setRemove from 64 goroutines.
func setRemoveParallel[H any](b *testing.B, open opener[H]) {
	c := stand(open)
	defer c.timers.Close()
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if !c.timers.Remove(c.timers.Nop(delay(i))) {
				b.Error("a standing timer is missing")
				return
			}
		}
	})
	b.StopTimer()
	if err := allStand(c.timers, c.handles, len(c.handles)); err != nil {
		b.Fatal(err)
	}
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
