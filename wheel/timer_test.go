package wheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// A function that waits in a busy Run has not begun, so it can still be
// stopped.
func TestStopStopsAFunctionThatRunHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held []func()
		tm := NewTimers(Config{Shards: 1, Run: runnerOf(func(f func()) { held = append(held, f) })})
		stopped := tm.AfterFunc(time.Second, func() { t.Error("called after Stop") })
		called := 0
		moved := tm.AfterFunc(time.Second, func() { called++ })
		waited := tm.AfterFunc(time.Second, func() { t.Error("called after StopWait") })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !stopped.Stop() || !moved.Reset(time.Hour) {
			t.Error("a function that has not begun was not stopped")
		}
		noError(t, waited.StopWait(t.Context()))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for k, f := range held {
			if f(); called != k/3 { // the first three are those that were stopped
				t.Errorf("function %d is called %d times", k, called)
			}
		}
		if len(held) != 4 || moved.Stop() {
			t.Errorf("Run held %d functions", len(held))
		}
	})
}

func TestStopWaitWaitsForTheRunningFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tm Timers
		var running atomic.Int32
		timer := tm.AfterFunc(0, func() {
			running.Add(1)
			time.Sleep(time.Minute)
			running.Add(-1)
		})
		synctest.Wait()
		time.Sleep(10 * time.Second)
		timer.Reset(0) // so that it runs twice at the same time
		synctest.Wait()
		if running.Load() != 2 {
			t.Fatalf("%d running, want 2", running.Load())
		}
		timer.Reset(20 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := timer.StopWait(short); !errors.Is(err, context.DeadlineExceeded) || running.Load() != 2 {
			t.Errorf("StopWait = %v with %d running", err, running.Load())
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := timer.StopWait(t.Context()); err != nil || running.Load() != 0 {
					t.Errorf("StopWait = %v with %d running", err, running.Load())
				}
			})
		}
		start := time.Now()
		if wg.Wait(); time.Since(start) != 50*time.Second {
			t.Errorf("waited %v, want 50s", time.Since(start))
		}
		time.Sleep(time.Hour)
		if err := timer.StopWait(short); err != nil || running.Load() != 0 {
			t.Errorf("with nothing to wait for, StopWait = %v", err)
		}
	})
}

func TestStopWaitUndoesAResetByTheFunctionItself(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		var calls atomic.Int32
		var timer *Timer
		timer = tm.AfterFunc(time.Hour, func() {
			calls.Add(1)
			timer.Reset(time.Minute)
			time.Sleep(time.Second)
			timer.Reset(time.Second)
		})
		timer.Reset(time.Second)
		time.Sleep(1500 * time.Millisecond)
		noError(t, timer.StopWait(t.Context()))
		before := calls.Load()
		if time.Sleep(time.Hour); calls.Load() != before || timer.Stop() {
			t.Error("it went on after StopWait")
		}
		timer.Reset(0)
		if synctest.Wait(); calls.Load() == before {
			t.Error("Reset after StopWait did nothing")
		}
		time.Sleep(time.Minute)
		timer.Stop()
		noError(t, timer.StopWait(t.Context()))
	})
}

func TestStopWaitSeesFunctionsThatPanicOrExit(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		cfg.OnPanic = func(any, []byte) {}
		tm := NewTimers(cfg)
		for _, leave := range []func(){runtime.Goexit, func() { panic("no") }} {
			timer := tm.AfterFunc(0, func() {
				time.Sleep(time.Second)
				leave()
			})
			synctest.Wait()
			noError(t, timer.StopWait(t.Context()))
		}
		noError(t, tm.Shutdown(t.Context()))
	})
}

func TestATimerWhoseFunctionRunDropsIsNoLongerPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offered, told, ran atomic.Int32
		tm := NewTimers(Config{
			MaxPending: 1,
			OnPanic:    func(any, []byte) { told.Add(1) },
			Run: runnerOf(func(f func()) {
				if offered.Add(1) == 1 {
					panic("refused")
				}
				f()
			}),
		})
		timer := tm.AfterFunc(time.Second, func() { ran.Add(1) })
		time.Sleep(time.Minute)
		if timer.Stop() || ran.Load() != 0 || told.Load() != 1 {
			t.Errorf("%d runs, %d panics reported", ran.Load(), told.Load())
		}
		noError(t, timer.StopWait(t.Context()))
		timer.Reset(time.Second) // has room
		if time.Sleep(time.Minute); ran.Load() != 1 {
			t.Errorf("%d runs after Reset", ran.Load())
		}
	})
}

// armings counts the armings of one timer, and how they ended.
type armings struct {
	timer *Timer
	calm  sync.RWMutex // held for writing while no goroutine may reset the timer

	armed, fired, stopped, replaced atomic.Int64
	running                         atomic.Int64
}

func (b *armings) call() {
	b.running.Add(1)
	b.fired.Add(1)
	b.running.Add(-1)
}

// receive counts the times of a channel timer until over is closed.
func (b *armings) receive(over <-chan struct{}) {
	for {
		select {
		case <-b.timer.C:
			b.fired.Add(1)
		case <-over:
			return
		}
	}
}

func (b *armings) reset(d time.Duration) {
	b.calm.RLock()
	defer b.calm.RUnlock()
	if b.armed.Add(1); b.timer.Reset(d) {
		b.replaced.Add(1)
	}
}

func (b *armings) stop() {
	if b.timer.Stop() {
		b.stopped.Add(1)
	}
}

// stopWait stops the timer while no goroutine resets it: the state after that
// must last.
func (b *armings) stopWait(t *testing.T) {
	b.calm.Lock()
	defer b.calm.Unlock()
	b.stop()
	noError(t, b.timer.StopWait(t.Context()))
	before := b.fired.Load()
	runtime.Gosched()
	called := b.timer.C == nil && b.fired.Load() != before // a receiver may count later
	if b.running.Load() != 0 || called || b.timer.Stop() {
		t.Error("StopWait returned, but the timer goes on")
	}
}

// Every arming ends exactly once: its function is called or its time received,
// or Stop or a Reset reports that it stopped it.
func TestEveryArmingEndsOnceUnderContention(t *testing.T) {
	for _, cfg := range []Config{{Shards: 1, Run: Inline}, {Shards: 4, Run: Inline}, {}} {
		const workers = 64
		tm := NewTimers(cfg)
		all := make([]armings, 48)
		over := make(chan struct{})
		var receivers, wg sync.WaitGroup
		for i := range all {
			b := &all[i]
			b.armed.Store(1)
			if i%4 == 0 {
				b.timer = tm.NewTimer(time.Millisecond)
				receivers.Go(func() { b.receive(over) })
				receivers.Go(func() { b.receive(over) })
				continue
			}
			b.timer = tm.AfterFunc(time.Millisecond, b.call)
		}
		for worker := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(worker)))
				for range raceOperations() / 3 / workers {
					b := &all[r.IntN(len(all))]
					switch r.IntN(8) {
					case 0, 1:
						b.stop()
					case 2:
						if r.IntN(16) == 0 {
							b.stopWait(t)
						}
					default:
						b.reset(time.Duration(r.Int64N(int64(2 * time.Millisecond))))
					}
				}
			})
		}
		wg.Wait()
		for i := range all {
			all[i].stop()
			fatal.If(t, all[i].timer.StopWait(t.Context()))
		}
		close(over)
		receivers.Wait()
		for i := range all {
			b := &all[i]
			if a, ended := b.armed.Load(), b.fired.Load()+b.stopped.Load()+b.replaced.Load(); a != ended || len(b.timer.C) != 0 {
				t.Errorf("timer %d: %d armings, %d ends: %d fired, %d stopped, %d replaced",
					i, a, ended, b.fired.Load(), b.stopped.Load(), b.replaced.Load())
			}
		}
		if err := tm.Shutdown(t.Context()); err != nil || tm.Len() != 0 {
			t.Errorf("Shutdown = %v, %d pending", err, tm.Len())
		}
		checkCounters(t, tm.use().Wheel)
	}
}
