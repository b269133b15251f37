package wheel

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallbacksMayUseTheirWheel(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var w *Wheel[int]
		var other ID
		r := newRecorder()
		w = New(cfg, func(v int) {
			switch r.fire(v); v {
			case 1:
				must(w.Add(0, 10))
				must(w.Add(time.Second, 11))
				if !w.Reset(other, 3*time.Second) || !w.Extend(other, 4*time.Second) {
					t.Error("Reset in a callback failed")
				}
				w.Stats()
				for range w.All() {
					w.Len()
				}
				if _, ok := w.Remove(other); !ok {
					t.Error("Remove in a callback failed")
				}
			case 2:
				for range w.Drain() {
				}
				w.Close()
				w.Close()
			}
		})
		other = must(w.Add(10*time.Second, 99))
		must(w.Add(time.Second, 1))
		must(w.Add(time.Minute, 2))
		must(w.Add(time.Hour, 100))
		time.Sleep(2 * time.Hour)
		if got := r.values(); !slices.Equal(got, []int{1, 10, 11, 2}) || w.Len() != 0 {
			t.Errorf("fired %v", got)
		}
		noError(t, w.Shutdown(t.Context()))
		checkCounters(t, w)
	})
}

func TestDueTimersStayPendingUntilTheyAreHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w := New(Config{Shards: 1, Run: Inline}, func(v int) {
			r.fire(v)
			time.Sleep(time.Second)
		})
		var ids []ID
		for i := range 10 {
			ids = append(ids, must(w.Add(time.Second, i)))
		}
		time.Sleep(1500 * time.Millisecond) // the first callback runs
		if n := w.Len(); n != 9 {
			t.Fatalf("Len = %d, want 9", n)
		}
		running := r.values()[0]
		n := 0
		for id, v := range w.All() {
			if _, left, ok := w.Get(id); !ok || left != 0 || v == running {
				t.Errorf("Get(%d) = %v, %v", v, left, ok)
			}
			switch n++; n {
			case 1:
				if _, ok := w.Remove(id); !ok {
					t.Error("Remove of a due timer failed")
				}
			case 2:
				if !w.Reset(id, time.Hour) {
					t.Error("Reset of a due timer failed")
				}
			case 3:
				if !w.Extend(id, time.Hour) {
					t.Error("Extend of a due timer failed")
				}
			}
		}
		if w.Reset(ids[running], time.Second) {
			t.Error("Reset of the running timer succeeded")
		}
		time.Sleep(time.Minute)
		if got := len(r.values()); got != 7 {
			t.Errorf("%d fired within the minute, want 7", got)
		}
		time.Sleep(2 * time.Hour)
		if got := len(r.values()); got != 9 {
			t.Errorf("%d fired, want 9", got)
		}
		checkCounters(t, w)
	})
}

// A panic or Goexit in a callback ends no other callback, wherever they run.
func TestAPanicOrGoexitEndsOnlyItsCallback(t *testing.T) {
	const n = 99
	for name, run := range map[string]func() Runner{
		"inline":             func() Runner { return Inline },
		"go":                 func() Runner { return Go },
		"a pool that blocks": func() Runner { return NewPool(PoolConfig{Workers: 2, Queue: 4}) },
		"a pool that spills": func() Runner { return NewPool(PoolConfig{Workers: 2, Queue: 4, Full: Spill}) },
	} {
		for _, reported := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var told, ran atomic.Int64
				cfg := Config{Shards: 2, Run: run()}
				if reported {
					cfg.OnPanic = func(v any, stack []byte) {
						if told.Add(1); v != "a callback's own" || len(stack) == 0 {
							t.Errorf("panic %v, stack %q", v, stack)
						}
					}
				}
				fire := func(v int) {
					switch ran.Add(1); {
					case v%3 == 0:
						runtime.Goexit()
					case v%3 == 1 && reported:
						panic("a callback's own")
					}
				}
				for apart, w := range map[time.Duration]*Wheel[int]{
					0:           New(cfg, fire),
					time.Second: NewBatch(cfg, func(batch []Expired[int]) { fire(batch[0].Value) }), // one in each
				} {
					ran.Store(0)
					for v := range n {
						must(w.Add(time.Duration(v)*apart, v))
					}
					time.Sleep(time.Hour)
					noError(t, w.Shutdown(t.Context()))
					if s := checkCounters(t, w); s.Fired != n || ran.Load() != n || s.Panics != uint64(told.Swap(0)) || reported && s.Panics != n/3 {
						t.Errorf("%s: %d fired, %d ran, %d panics", name, s.Fired, ran.Load(), s.Panics)
					}
				}
			})
		}
	}
}

func TestAPanicLosesOnlyTheRestOfItsBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		const n = 10 * batchSize
		var ran atomic.Int64
		cfg.OnPanic = func(any, []byte) {}
		w := NewBatch(cfg, func(batch []Expired[int]) {
			for _, e := range batch {
				if e.Value == n/2 {
					panic("one of many")
				}
				ran.Add(1)
			}
		})
		for i := range n {
			must(w.Add(time.Second, i))
		}
		time.Sleep(3 * time.Second)
		noError(t, w.Shutdown(t.Context()))
		if s := checkCounters(t, w); s.Panics != 1 || s.Fired != n || ran.Load() < n-batchSize {
			t.Errorf("%d panics, %d fired, %d of %d ran", s.Panics, s.Fired, ran.Load(), n)
		}
	})
}

// Run may refuse f, panic or end its goroutine. Then the timer is dropped, and
// f does nothing if it is called later, so no timer is both dropped and fired.
func TestATimerThatRunDoesNotAcceptIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, batch := range []bool{false, true} {
			var ran, told atomic.Int32
			var late []func()
			cfg := Config{
				Shards:  1,
				OnPanic: func(any, []byte) { told.Add(1) },
				Run: RunnerFunc(func(f func()) bool {
					switch late = append(late, f); len(late) {
					case 1:
						panic("no")
					case 2:
						runtime.Goexit()
					case 3:
						return false
					}
					f()
					return true
				}),
			}
			w := New(cfg, func(int) { ran.Add(1) })
			if batch {
				w = NewBatch(cfg, func([]Expired[int]) { ran.Add(1) })
			}
			for i := range 5 {
				must(w.Add(time.Duration(i)*time.Second, i))
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			for _, f := range late {
				f() // also a second call of those that have run
			}
			noError(t, w.Shutdown(t.Context()))
			if s := checkCounters(t, w); s.Dropped != 3 || s.Fired != 2 || told.Load() != 1 || ran.Load() != 2 {
				t.Errorf("%d dropped, %d fired, %d panics reported, %d ran", s.Dropped, s.Fired, told.Load(), ran.Load())
			}
		}
	})
}

// Shutdown waits for a callback that runs, and for one that waits in Run.
func TestShutdownWaitsForAcceptedCallbacksUntilItsContextEnds(t *testing.T) {
	slow := runnerOf(func(f func()) { time.Sleep(time.Minute); go f() })
	for _, cfg := range []Config{{Shards: 1, Run: Inline}, {Shards: 4}, {Shards: 2, Run: slow}} {
		synctest.Test(t, func(t *testing.T) {
			var ended atomic.Int32
			w := New(cfg, func(int) {
				time.Sleep(time.Minute)
				ended.Add(1)
			})
			must(w.Add(time.Second, 1))
			must(w.Add(time.Hour, 2))
			time.Sleep(2 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := w.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || ended.Load() != 0 {
				t.Errorf("Shutdown = %v, %d callbacks have ended", err, ended.Load())
			}
			if err := w.Shutdown(t.Context()); err != nil || ended.Load() != 1 {
				t.Errorf("Shutdown = %v, %d callbacks have ended", err, ended.Load())
			}
			time.Sleep(2 * time.Hour)
			if ended.Load() != 1 || w.Len() != 1 {
				t.Error("a timer fired after Shutdown")
			}
		})
	}
}

const crashChild = "WHEEL_CRASH_CHILD"

// Without OnPanic a panic ends the program, as with package time: it must not
// be lost.
func TestAPanicWithoutOnPanicEndsTheProgram(t *testing.T) {
	if run := os.Getenv(crashChild); run != "" {
		cfg := Config{}
		if run == "inline" {
			cfg.Run = Inline
		}
		_, _ = New(cfg, func(int) { panic("unexpected") }).Add(0, 1)
		time.Sleep(time.Minute)
		return
	}
	for _, run := range []string{"go", "inline"} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAPanicWithoutOnPanicEndsTheProgram$")
		child.Env = append(os.Environ(), crashChild+"="+run)
		out, err := child.CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("panic: unexpected")) {
			t.Errorf("%s: %v\n%s", run, err, out)
		}
	}
}
