package wheel

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"
)

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// checkAllocs checks how often each operation allocates.
func checkAllocs(t *testing.T, want float64, operations map[string]func()) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, do := range operations {
		for range 20_000 { // until the lists have their length
			do()
		}
		if n := testing.AllocsPerRun(1000, do); n != want {
			t.Errorf("%s: %v allocations, want %v", name, n, want)
		}
	}
}

func TestNoOperationAllocates(t *testing.T) {
	w := New(Config{MaxPending: 1 << 20}, func(int) {})
	defer w.Close()
	at := time.Now().Add(time.Hour)
	var ids []ID
	for i := range 10_000 {
		ids = append(ids, must(w.Add(time.Hour+time.Duration(i)*time.Second, i)))
	}
	i := 0
	checkAllocs(t, 0, map[string]func(){
		"Add, Remove":   func() { w.Remove(must(w.Add(time.Minute, 1))) },
		"slack, Remove": func() { w.Remove(must(w.AddAt(When{After: time.Minute, Slack: time.Second}, 1))) },
		"AddAt, Remove": func() { w.Remove(must(w.AddAt(When{At: at}, 1))) },
		"Extend":        func() { w.Extend(ids[0], 2*time.Hour) },
		"Reset": func() {
			i++
			w.Reset(ids[0], time.Hour-time.Duration(i%1000)*time.Second)
		},
		"Remove, Add of others": func() {
			i++
			k := i * 7919 % len(ids)
			w.Remove(ids[k])
			ids[k] = must(w.Add(time.Hour, k))
		},
		"Get": func() { w.Get(ids[0]) },
	})
}

// freed receives a name for each object that the collector has freed.
type freed chan string

func watched[T any](f freed, name string, object *T) *T {
	runtime.AddCleanup(object, func(name string) { f <- name }, name)
	return object
}

func (f freed) value(name string) *[16]byte { return watched(f, name, new([16]byte)) }

// mustHave runs collections until all these objects are freed, or gives up
// after some.
func (f freed) mustHave(t *testing.T, names ...string) {
	t.Helper()
	for range 20 {
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run on a goroutine of the runtime
		for len(f) > 0 {
			name := <-f
			names = slices.DeleteFunc(names, func(s string) bool { return s == name })
		}
		if len(names) == 0 {
			return
		}
	}
	t.Errorf("kept: %q", names)
}

func TestAValueIsNotKeptAfterAnyEndOfItsTimer(t *testing.T) {
	gone := make(freed, 20)
	cfg := Config{Shards: 1, Run: Inline, OnPanic: func(any, []byte) {}}
	panics := New(cfg, func(v *[16]byte) { panic("after it was read") })
	batches := NewBatch(cfg, func([]Expired[*[16]byte]) { panic("before it was read") })
	cfg.Run = runnerOf(func(func()) { panic("never run") })
	drops := New(cfg, func(*[16]byte) {})
	cfg.Run = Inline
	fires := New(cfg, func(*[16]byte) {})
	wheels := map[string]*Wheel[*[16]byte]{
		"panics": panics, "panics in a batch": batches, "dropped": drops,
		"fired": fires, "fired in a batch": NewBatch(cfg, func([]Expired[*[16]byte]) {}),
	}
	for how, w := range wheels {
		must(w.Add(time.Hour, nil)) // the wheel stays in use
		must(w.Add(0, gone.value(how)))
		for w.Len() > 1 || held(w) > 0 {
			runtime.Gosched()
		}
	}
	fires.Remove(must(fires.Add(time.Hour, gone.value("removed"))))
	must(panics.Add(time.Hour, gone.value("drained")))
	must(panics.AddAt(When{At: time.Now().Add(time.Hour)}, gone.value("drained from the wall clock")))
	for range panics.Drain() {
	}
	must(panics.Add(time.Hour, gone.value("drained after Close")))
	panics.Close()
	for range panics.Drain() {
	}
	k := NewKeyed(cfg, func(int, *[16]byte) {})
	_, _ = k.Set(1, time.Hour, gone.value("replaced"))
	_, _ = k.Set(1, time.Hour, nil)
	gone.mustHave(t, "removed", "drained", "drained from the wall clock", "drained after Close", "replaced",
		"panics", "panics in a batch", "dropped", "fired", "fired in a batch")
	for _, w := range wheels {
		w.Close()
	}
	k.Close()
}

func TestAnEndedTimerOrContextIsCollected(t *testing.T) {
	var tm Timers
	defer tm.Close()
	parent, cancelParent := context.WithCancel(context.Background()) // must not hold its ended children
	defer cancelParent()
	gone := make(freed, 7)
	use := func(v *[16]byte) func() { return func() { v[0]++ } }
	func() {
		tm.AfterFunc(time.Hour, use(gone.value("stopped"))).Stop()
		tm.Every(time.Hour, use(gone.value("a series")), EveryOptions{}).Stop()
		_, cancel := tm.WithTimeout(context.WithValue(parent, ctxKey{}, gone.value("a context's value")), time.Hour)
		cancel()
		for name, d := range map[string]time.Duration{"cancelled": time.Hour, "timed out": 1, "over before": -1} {
			ctx, cancel := tm.WithTimeout(parent, d)
			watched(gone, name, ctx.(*deadlineCtx))
			if d != 1 {
				cancel()
			}
			<-ctx.Done()
		}
		fired := make(chan bool)
		v := gone.value("fired")
		tm.AfterFunc(0, func() { v[0]++; close(fired) })
		<-fired
	}()
	gone.mustHave(t, "stopped", "a series", "fired", "a context's value", "cancelled", "timed out", "over before")
}

func TestAForgottenEmptyWheelIsCollected(t *testing.T) {
	gone := make(freed, 5)
	var names []string
	for name, fill := range map[string]func(w *Wheel[int]){
		"never used": func(*Wheel[int]) {},
		"all removed": func(w *Wheel[int]) {
			for range 1000 { // both shards arm their timers for a distant time
				w.Remove(must(w.Add(time.Hour, 0)))
			}
			w.Remove(must(w.AddAt(When{At: time.Now().Add(time.Hour)}, 0)))
		},
		"all drained": func(w *Wheel[int]) {
			for range 100 {
				must(w.Add(time.Hour, 0))
			}
			for range w.Drain() {
			}
		},
		"all fired": func(w *Wheel[int]) {
			for range 100 {
				must(w.Add(0, 0))
			}
			for w.Stats().Fired < 100 {
				runtime.Gosched()
			}
		},
		"closed": func(w *Wheel[int]) {
			must(w.Add(time.Hour, 0))
			w.Close()
		},
	} {
		names = append(names, name)
		func() {
			w := New(Config{Shards: 2}, func(int) {})
			watched(gone, name, w.shards[0])
			fill(w)
		}()
	}
	gone.mustHave(t, names...)
}

func TestAForgottenWheelWithTimersStillFires(t *testing.T) {
	fired := make(chan int, 1)
	_, _ = New(Config{}, func(v int) { fired <- v }).Add(20*time.Millisecond, 7)
	for range 5 {
		runtime.GC()
	}
	if v := <-fired; v != 7 {
		t.Errorf("fired %d", v)
	}
}

func TestNoGoroutineWhileNothingIsDue(t *testing.T) {
	before := runtime.NumGoroutine()
	w := New(Config{Shards: 8}, func(int) {})
	defer w.Close()
	for i := range 10_000 {
		must(w.Add(time.Hour, i))
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	for range 1000 { // nor after something was added and removed
		must(w.Add(0, 1))
		must(w.AddAt(When{At: time.Now()}, 1))
	}
	for range 10_000 {
		if w.Len() == 10_000 && held(w) == 0 && runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines after some have fired, %d before", runtime.NumGoroutine(), before)
}
