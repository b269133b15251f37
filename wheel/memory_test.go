package wheel

import (
	"runtime"
	"testing"
	"time"
)

func TestNoOperationAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w := New(Config{MaxPending: 1 << 20}, func(int) {})
	defer w.Close()
	at := time.Now().Add(time.Hour)
	var ids []ID
	for i := range 10_000 {
		ids = append(ids, w.Add(time.Hour+time.Duration(i)*time.Second, i))
	}
	standing := ids[0]
	i := 0
	for name, f := range map[string]func(){
		"Add, Remove":      func() { w.Remove(w.Add(time.Minute, 1)) },
		"AddSlack, Remove": func() { w.Remove(w.AddSlack(time.Minute, time.Second, 1)) },
		"AddAt, Remove":    func() { w.Remove(w.AddAt(at, 1)) },
		"TryAdd, Remove":   func() { id, _ := w.TryAdd(time.Minute, 1); w.Remove(id) },
		"Extend":           func() { w.Extend(standing, 2*time.Hour) },
		"Reset": func() {
			i++
			w.Reset(standing, time.Hour-time.Duration(i%1000)*time.Second)
		},
		"Remove, Add of others": func() {
			i++
			k := i * 7919 % len(ids)
			w.Remove(ids[k])
			ids[k] = w.Add(time.Hour, k)
			standing = ids[0]
		},
		"Get": func() { w.Get(standing) },
	} {
		for range 20_000 { // until the lists have their length
			f()
		}
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestAValueIsNotKeptAfterAnyEndOfItsTimer(t *testing.T) {
	gone := make(chan string, 9)
	value := func(how string) *[16]byte {
		v := new([16]byte)
		runtime.AddCleanup(v, func(how string) { gone <- how }, how)
		return v
	}
	cfg := Config{Shards: 1, Run: Inline, OnPanic: func(any, []byte) {}}
	panics := New(cfg, func(v *[16]byte) { panic("after it was read") })
	batches := NewBatch(cfg, func([]Expired[*[16]byte]) { panic("before it was read") })
	cfg.Run = runnerOf(func(func()) { panic("never run") })
	drops := New(cfg, func(*[16]byte) {})
	cfg.Run = Inline
	fires := New(cfg, func(*[16]byte) {})
	wheels := []*Wheel[*[16]byte]{panics, batches, drops, fires, NewBatch(cfg, func([]Expired[*[16]byte]) {})}
	for _, w := range wheels {
		w.Add(time.Hour, nil) // the wheel stays in use
		w.Add(0, value("fired, dropped or ended without returning"))
		for w.Len() > 1 || held(w) > 0 {
			runtime.Gosched()
		}
	}
	fires.Remove(fires.Add(time.Hour, value("removed")))
	panics.Add(time.Hour, value("drained"))
	panics.AddAt(time.Now().Add(time.Hour), value("drained from the wall clock"))
	for range panics.Drain() {
	}
	panics.Add(time.Hour, value("drained after Close"))
	panics.Close()
	for range panics.Drain() {
	}
	for n := range 9 {
		select {
		case <-gone:
		case <-collecting():
			t.Fatalf("only %d of 9 values were let go", n)
		}
	}
	for _, w := range wheels {
		w.Close()
	}
}

// collecting runs a few collections, then lets the reader continue.
func collecting() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		for range 20 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		close(done)
	}()
	return done
}

func TestAForgottenEmptyWheelIsCollected(t *testing.T) {
	for name, fill := range map[string]func(w *Wheel[*[16]byte]){
		"never used": func(*Wheel[*[16]byte]) {},
		"all removed": func(w *Wheel[*[16]byte]) {
			for range 1000 { // both shards arm their timers for a distant time
				w.Remove(w.Add(time.Hour, nil))
			}
			w.Remove(w.AddAt(time.Now().Add(time.Hour), nil))
		},
		"all drained": func(w *Wheel[*[16]byte]) {
			for range 100 {
				w.Add(time.Hour, nil)
			}
			for range w.Drain() {
			}
		},
		"all fired": func(w *Wheel[*[16]byte]) {
			for range 100 {
				w.Add(0, nil)
			}
			for w.Stats().Fired < 100 {
				runtime.Gosched()
			}
		},
		"closed": func(w *Wheel[*[16]byte]) {
			w.Add(time.Hour, nil)
			w.Close()
		},
	} {
		gone := make(chan struct{})
		func() {
			w := New(Config{Shards: 2}, func(*[16]byte) {})
			runtime.AddCleanup(w.shards[0], func(int) { close(gone) }, 0)
			fill(w)
		}()
		select {
		case <-gone:
		case <-collecting():
			t.Errorf("%s: not collected", name)
		}
	}
}

func TestAForgottenWheelWithTimersStillFires(t *testing.T) {
	fired := make(chan int, 1)
	New(Config{}, func(v int) { fired <- v }).Add(20*time.Millisecond, 7)
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
		w.Add(time.Hour, i)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	for range 1000 { // nor after something was added and removed
		w.Add(0, 1)
		w.AddAt(time.Now(), 1)
	}
	for range 10_000 {
		if w.Len() == 10_000 && held(w) == 0 && runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines after some have fired, %d before", runtime.NumGoroutine(), before)
}
