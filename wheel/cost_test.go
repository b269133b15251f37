package wheel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Other libraries keep the memory of ended timers, or wake while nothing is due.
// A comment names the library and the fault.

// memoryCount is enough operations to see the memory that one of them leaks.
func memoryCount() int { return howMany(0, 1_000_000, 20_000, 100_000) }

// checkNothingStays checks that the heap after f is at most a chunk or two
// larger than before.
func checkNothingStays(t *testing.T, what string, f func()) {
	t.Helper()
	before := heapInUse()
	f()
	if after := heapInUse(); after > before+512<<10 {
		t.Errorf("%s: %d kB more than before", what, (after-before)>>10)
	}
}

// go-zero: a removed timer stayed in its slot until the slot was due: 127 MB
// after a million adds and removals. gf gtimer: the same with Close, until the
// deadline.
func TestRemovedTimersLeaveNothingBehind(t *testing.T) {
	w := New(Config{Shards: 1}, func(int) {})
	defer w.Close()
	must(w.Add(time.Hour, 1)) // the wheel is not empty
	checkNothingStays(t, "one after the other", func() {
		for i := range memoryCount() {
			w.Remove(must(w.Add(time.Minute+time.Duration(i)*time.Millisecond, 1)))
		}
	})
	ids := make([]ID, memoryCount())
	checkNothingStays(t, "all at once", func() {
		for i := range ids {
			ids[i] = must(w.Add(time.Minute+time.Duration(i)*time.Millisecond, 1))
		}
		for _, id := range ids {
			w.Remove(id)
		}
	})
	checkNothingStays(t, "drained", func() {
		for i := range memoryCount() {
			must(w.Add(time.Minute+time.Duration(i)*time.Millisecond, 1))
		}
		for range w.Drain() {
		}
		must(w.Add(time.Hour, 1))
	})
}

func TestFiredTimersLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Shards: 1, Run: Inline}, func(int) {})
		must(w.Add(1000*time.Hour, 1))
		checkNothingStays(t, "fired", func() {
			for i := range memoryCount() {
				must(w.Add(time.Duration(i)*time.Millisecond, 1))
			}
			time.Sleep(100 * time.Hour)
			synctest.Wait()
		})
		if w.Len() != 1 {
			t.Errorf("Len = %d", w.Len())
		}
		w.Close()
	})
}

// rfyiamcool/go-timewheel: Reset left the old task in the wheel: 129 MB after a
// million Resets of one timer.
func TestAMillionMovesOfOneTimerLeaveNothingBehind(t *testing.T) {
	w := New(Config{Shards: 1}, func(int) {})
	defer w.Close()
	id, at := must(w.Add(time.Hour, 1)), time.Now()
	for name, move := range map[string]func(i int) bool{
		"later":        func(i int) bool { return w.Reset(id, time.Hour+time.Duration(i)*time.Millisecond) },
		"earlier":      func(i int) bool { return w.Reset(id, 3*time.Hour-time.Duration(i)*time.Millisecond) },
		"to and fro":   func(i int) bool { return w.Reset(id, time.Duration(1+i%100)*time.Hour) },
		"any distance": func(i int) bool { return w.Reset(id, time.Hour<<(i%20)) },
		"extended":     func(i int) bool { return w.Extend(id, time.Duration(i)*time.Second) },
		"wall clock": func(i int) bool {
			w.Remove(id)
			id = must(w.AddAt(When{At: at.Add(time.Duration(i+1) * time.Hour)}, 1))
			return w.Extend(id, time.Hour)
		},
	} {
		checkNothingStays(t, name, func() {
			for i := range memoryCount() {
				if !move(i) {
					t.Fatalf("%s: a pending timer was not moved", name)
				}
			}
		})
	}
	if w.Len() != 1 {
		t.Errorf("Len = %d", w.Len())
	}
}

// package time starts the callbacks of all expired timers before any of them
// runs: of a million that were due within a second, half fired 2.7 to 9.2 s
// late. Here the driver lets callbacks run in between.
func TestCallbacksRunBetweenTheStartsOfDueTimers(t *testing.T) {
	n := memoryCount()
	var w *Wheel[int]
	var ran, worst atomic.Int64
	w = New(Config{Shards: 1}, func(int) {
		waiting := int64(w.Stats().Fired) - ran.Add(1)
		for old := worst.Load(); waiting > old && !worst.CompareAndSwap(old, waiting); old = worst.Load() {
		}
	})
	for i := range n {
		must(w.Add(0, i))
	}
	waitQuiet(t, w)
	if t.Logf("%d of %d waited at most", worst.Load(), n); worst.Load() > int64(n/4) {
		t.Errorf("%d callbacks had been started and not run", worst.Load())
	}
	w.Close()
}

// apache/pulsar#6414, netty#1246: a wheel with a short tick kept a core busy
// while nothing was due.
func TestStandingTimersCauseNoWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Shards: 1, Tick: minTick}, func(int) {})
		for i := range 100_000 {
			must(w.Add(time.Hour+time.Duration(i)*time.Millisecond, i))
		}
		time.Sleep(time.Hour - time.Second)
		if n := w.Stats().Wakeups; n > 2*slotCount { // the wide slots in which they are placed first
			t.Errorf("%d wake-ups within an hour in which nothing was due", n)
		}
		for range w.Drain() {
		}
		before := w.Stats().Wakeups
		time.Sleep(1000 * time.Hour)
		if n := w.Stats().Wakeups - before; n > 1 {
			t.Errorf("%d wake-ups of an empty wheel", n)
		}
	})
}
