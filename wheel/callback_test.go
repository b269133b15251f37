package wheel

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallbacksMayUseTheirWheel(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var w *Wheel[int]
		var other ID
		var chained atomic.Int32
		w = New(cfg, func(v int) {
			switch v {
			case 1:
				w.Add(0, 10)
				w.Add(time.Second, 11)
			case 2:
				if !w.Reset(other, 3*time.Second) || !w.Extend(other, 4*time.Second) {
					t.Error("Reset in a callback failed")
				}
			case 3:
				if _, ok := w.Remove(other); !ok {
					t.Error("Remove in a callback failed")
				}
			case 4:
				w.Len()
				w.Next()
				w.Stats()
				for range w.All() {
					w.Len()
				}
			case 5:
				for range w.Drain() {
				}
				w.Close()
				w.Close()
			case 10, 11:
				chained.Add(1)
			default:
				t.Errorf("%d fired", v)
			}
		})
		other = w.Add(10*time.Second, 99)
		for v := 1; v <= 5; v++ {
			w.Add(time.Duration(v)*time.Second, v)
			if v == 1 {
				time.Sleep(500 * time.Millisecond)
			}
		}
		w.Add(time.Hour, 100)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if chained.Load() != 2 {
			t.Errorf("%d of the timers added in a callback fired", chained.Load())
		}
		if w.Add(1, 1) != 0 {
			t.Error("Close in a callback did not close")
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
			ids = append(ids, w.Add(time.Second, i))
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

func TestAPanicIsReportedAndTheOthersStillRun(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var mu sync.Mutex
		var told []any
		cfg.OnPanic = func(v any, stack []byte) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, v)
			if len(stack) == 0 {
				t.Error("no stack")
			}
		}
		r := newRecorder()
		w := New(cfg, func(v int) {
			if v%2 == 0 {
				panic(v)
			}
			r.fire(v)
		})
		for i := range 100 {
			w.Add(time.Second, i)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(told) != 50 || len(r.values()) != 50 {
			t.Errorf("%d panics reported, %d others ran", len(told), len(r.values()))
		}
		noError(t, w.Shutdown(context.Background()))
		if s := checkCounters(t, w); s.Panics != 50 || s.Fired != 100 {
			t.Errorf("%d panics, %d fired", s.Panics, s.Fired)
		}
	})
}

func TestGoexitInACallbackEndsOnlyThatCallback(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		for _, onPanic := range []func(any, []byte){nil, func(any, []byte) { t.Error("Goexit taken for a panic") }} {
			cfg.OnPanic = onPanic
			r := newRecorder()
			w := New(cfg, func(v int) {
				r.fire(v)
				runtime.Goexit()
			})
			batches := NewBatch(cfg, func([]Expired[int]) { runtime.Goexit() })
			for i := range 100 {
				w.Add(time.Second, i)
				batches.Add(time.Duration(i)*time.Second, i)
			}
			time.Sleep(200 * time.Second)
			synctest.Wait()
			if n := len(r.values()); n != 100 {
				t.Errorf("%d fired", n)
			}
			if n := batches.Len(); n != 0 {
				t.Errorf("%d left", n)
			}
			noError(t, errors.Join(w.Shutdown(t.Context()), batches.Shutdown(t.Context())))
			checkCounters(t, w)
			checkCounters(t, batches)
		}
	})
}

func TestATimerThatRunDropsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, told := 0, 0
		r := newRecorder()
		w := New(Config{
			Shards: 1,
			Run: runnerOf(func(f func()) {
				switch calls++; calls {
				case 1:
					panic("no")
				case 2:
					runtime.Goexit()
				default:
					f()
				}
			}),
			OnPanic: func(any, []byte) { told++ },
		}, r.fire)
		for i := range 5 {
			w.Add(time.Second, i)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		noError(t, w.Shutdown(t.Context()))
		s := checkCounters(t, w)
		if s.Dropped != 2 || s.Fired != 3 || told != 1 || len(r.values()) != 3 {
			t.Errorf("%d dropped, %d fired, %d panics reported, %d ran", s.Dropped, s.Fired, told, len(r.values()))
		}
	})
}

func TestShutdownWaitsForAcceptedCallbacks(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		var ended atomic.Int32
		w := New(cfg, func(int) {
			time.Sleep(time.Minute)
			ended.Add(1)
		})
		w.Add(time.Second, 1)
		w.Add(time.Hour, 2)
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := w.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v", err)
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

func TestAPanicLosesOnlyTheRestOfItsBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		const n = 10 * batchSize
		var told, ran atomic.Int64
		cfg.OnPanic = func(any, []byte) { told.Add(1) }
		w := NewBatch(cfg, func(batch []Expired[int]) {
			for _, e := range batch {
				if e.Value == n/2 {
					panic("one of many")
				}
				ran.Add(1)
			}
		})
		for i := range n {
			w.Add(time.Second, i)
		}
		w.Add(2*time.Second, n)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if told.Load() != 1 || ran.Load() < n-batchSize {
			t.Errorf("%d panics reported, %d of %d ran", told.Load(), ran.Load(), n)
		}
		noError(t, w.Shutdown(t.Context()))
		if s := checkCounters(t, w); s.Panics != 1 || s.Fired != n+1 {
			t.Errorf("%d panics, %d fired", s.Panics, s.Fired)
		}
	})
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
		New(cfg, func(int) { panic("unexpected") }).Add(0, 1)
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
