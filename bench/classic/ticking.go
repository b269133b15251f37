package classic

import (
	"sync"
	"time"

	"github.com/foliot/foliot/examples/textbook"
)

// Timer is a timer of Rounds or Hands.
type Timer = textbook.Timer

// ticking is a wheel of package textbook, with a clock, a lock and a goroutine.
// Deadlines are rounded up to a tick, so a timer is never early, and late by
// less than one tick. The goroutine wakes up for every tick, even if no timer
// is pending.
type ticking struct {
	driver
	tick time.Duration

	mu    sync.Mutex // guards everything below
	wheel wheel
	ticks int // so far
}

// wheel is a *textbook.Ring or *textbook.Hands.
type wheel interface {
	Add(t *Timer, delay int)
	Remove(t *Timer) bool
	Move(t *Timer, delay int) bool
	Len() int
	Tick() (due []*Timer)
}

// Add calls f after d.
func (k *ticking) Add(d time.Duration, f func()) *Timer {
	t := &Timer{Call: f}
	due := k.tickOf(d)
	k.mu.Lock()
	k.wheel.Add(t, due-k.ticks)
	k.mu.Unlock()
	return t
}

// Remove removes t, and reports whether it was pending.
func (k *ticking) Remove(t *Timer) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wheel.Remove(t)
}

// Reset makes t fire after d from now if it is pending. It reports whether t
// was pending.
func (k *ticking) Reset(t *Timer, d time.Duration) bool {
	due := k.tickOf(d)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wheel.Move(t, due-k.ticks)
}

// Len returns the number of pending timers.
func (k *ticking) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wheel.Len()
}

// tickOf returns now + d in ticks, rounded up.
func (k *ticking) tickOf(d time.Duration) int {
	return int(after(after(k.now(), d), k.tick-1) / k.tick)
}

// pass makes the ticks that have ended. It returns the time until the next one
// ends.
func (k *ticking) pass() time.Duration {
	for {
		k.mu.Lock()
		wait := time.Duration(k.ticks+1)*k.tick - k.now()
		if wait > 0 {
			k.mu.Unlock()
			return wait
		}
		k.ticks++
		due := k.wheel.Tick() // only this goroutine ticks, so the result stays valid
		k.mu.Unlock()
		for _, t := range due {
			t.Call()
		}
	}
}
