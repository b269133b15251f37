package wheel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// makers are the methods of Timers that return a Timer or a Ticker.
var makers = map[string]func(*Timers) interface{ Err() error }{
	"AfterFunc": func(tm *Timers) interface{ Err() error } { return tm.AfterFunc(time.Hour, func() {}) },
	"NewTimer":  func(tm *Timers) interface{ Err() error } { return tm.NewTimer(time.Hour) },
	"NewTicker": func(tm *Timers) interface{ Err() error } { return tm.NewTicker(time.Hour) },
	"Every":     func(tm *Timers) interface{ Err() error } { return tm.Every(time.Hour, func() {}, EveryOptions{}) },
	"ScheduleFunc": func(tm *Timers) interface{ Err() error } {
		return tm.ScheduleFunc(func(t time.Time) time.Time { return t.Add(time.Hour) }, func() {})
	},
}

func TestErrIsTheReasonForWhichATimerWasRefused(t *testing.T) {
	for name, make := range makers {
		tm := NewTimers(Config{MaxPending: 1})
		first := tm.AfterFunc(time.Hour, func() {})
		if err := first.Err(); err != nil {
			t.Errorf("a timer that was set has the error %v", err)
		}
		full := make(tm)
		if err := full.Err(); !errors.Is(err, ErrFull) {
			t.Errorf("%s of a full Timers: %v", name, err)
		}
		first.Stop()
		room := make(tm)
		if err := room.Err(); err != nil {
			t.Errorf("%s with room: %v", name, err)
		}
		tm.Close()
		if err := make(tm).Err(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s of a closed Timers: %v", name, err)
		}
		if err := room.Err(); err != nil {
			t.Errorf("Close changed the error of %s to %v", name, err)
		}
		if err := full.Err(); !errors.Is(err, ErrFull) {
			t.Errorf("Close changed the error of %s to %v", name, err)
		}
		if n := tm.Stats().Refused; n != 2 {
			t.Errorf("%s: %d refused, want 2", name, n)
		}
	}
}

func TestRefusedCountsTheTimersThatWereNotSet(t *testing.T) {
	for _, shards := range []int{1, 4} {
		cfg := Config{Shards: shards, MaxPending: 1}
		w := New(cfg, func(int) {})
		refuses := func(want error) {
			t.Helper()
			for _, when := range []When{{After: time.Hour}, {After: time.Hour, Slack: time.Minute}, {At: time.Now().Add(time.Hour)}} {
				if id, err := w.AddAt(when, 2); id != 0 || !errors.Is(err, want) {
					t.Errorf("AddAt(%v) = %x, %v, want %v", when, id, err, want)
				}
			}
			if id, err := w.Add(time.Hour, 2); id != 0 || !errors.Is(err, want) {
				t.Errorf("Add = %x, %v, want %v", id, err, want)
			}
		}
		id := must(w.Add(time.Hour, 1))
		refuses(ErrFull)
		if !w.Reset(id, time.Minute) {
			t.Error("Reset needs room")
		}
		w.Close()
		w.Close()
		if w.Reset(id, 1) || w.Extend(id, time.Hour) || w.Len() != 1 {
			t.Error("a closed wheel moved a timer")
		}
		if v, ok := w.Remove(id); !ok || v != 1 {
			t.Errorf("Remove after Close = %d, %v", v, ok)
		}
		refuses(ErrClosed)
		if s := checkCounters(t, w); s.Refused != 8 || s.Added != 1 {
			t.Errorf("Wheel: %d refused, %d added, want 8 and 1", s.Refused, s.Added)
		}

		k := NewKeyed(cfg, func(string, int) {})
		_, _ = k.Set("a", time.Hour, 1)
		_, _ = k.Set("a", time.Hour, 2)
		_, _ = k.SetIfAbsent("a", time.Hour, 3)
		_, _ = k.Set("b", time.Hour, 4)
		_, _ = k.SetIfAbsent("c", time.Hour, 5)
		_, _ = k.SetAt("d", When{At: time.Now().Add(time.Hour)}, 5)
		k.Close()
		_, _ = k.Set("a", time.Hour, 6)
		_, _ = k.SetIfAbsent("a", time.Hour, 7)
		_, _ = k.SetAt("a", When{After: time.Hour}, 7)
		if s := k.Stats(); s.Refused != 6 || s.Added != 1 {
			t.Errorf("Keyed: %d refused, %d added, want 6 and 1", s.Refused, s.Added)
		}

		tm := NewTimers(cfg)
		tm.AfterFunc(time.Hour, func() {})
		_, cancel := tm.WithTimeout(context.Background(), time.Hour)
		cancel()
		_ = tm.Sleep(context.Background(), time.Hour)
		tm.After(time.Hour)
		if s := tm.Stats(); s.Refused != 3 {
			t.Errorf("Timers: %d refused, want 3", s.Refused)
		}
	}
}

func TestAWhenWithADelayAndAnInstantIsRefused(t *testing.T) {
	w, k := New(Config{MaxPending: 1}, func(int) {}), NewKeyed(Config{MaxPending: 1}, func(string, int) {})
	both := When{After: time.Hour, At: time.Unix(1, 0)}
	id, err := w.AddAt(both, 1)
	if want := "set only one of them"; id != 0 || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("AddAt = %x, %v", id, err)
	}
	if replaced, err := k.SetAt("a", both, 1); replaced || err == nil {
		t.Errorf("SetAt = %v, %v", replaced, err)
	}
	if w.Len() != 0 || k.Len() != 0 || must(w.Add(time.Hour, 1)) == 0 {
		t.Error("an invalid When takes room")
	}
}

// An invalid argument is a bug of the caller, and the message names it.
func TestInvalidArgumentsPanicAtOnce(t *testing.T) {
	var tm Timers
	var none *Pool
	f, fire := func() {}, func(int) {}
	for want, wrong := range map[string]func(){
		"Config.Tick is 1ns":          func() { New(Config{Tick: 1}, fire) },
		"Config.Shards is 257":        func() { NewBatch(Config{Shards: maxShards + 1}, func([]Expired[int]) {}) },
		"Config.Shards is -1":         func() { NewKeyed(Config{Shards: -1}, func(int, int) {}) },
		"Config.MaxPending is -1":     func() { NewTimers(Config{MaxPending: -1}) },
		"New without a callback":      func() { New[int](Config{}, nil) },
		"NewBatch without a callback": func() { NewBatch[int](Config{}, nil) },
		"NewKeyed without a callback": func() { NewKeyed[int, int](Config{}, nil) },
		"PoolConfig.Workers is -1, but must be at least 1, or 0 for GOMAXPROCS": func() { NewPool(PoolConfig{Workers: -1}) },
		"PoolConfig.Queue is -1, but must not be negative":                      func() { NewPool(PoolConfig{Queue: -1}) },
		"PoolConfig.Full is 3, but must be Block, Drop or Spill":                func() { NewPool(PoolConfig{Full: Spill + 1}) },
		"PoolConfig.Full is -1":               func() { NewPool(PoolConfig{Full: -1}) },
		"Run of a Pool without a function":    func() { NewPool(PoolConfig{Workers: 1, Queue: 1, Full: Spill}).Run(nil) },
		"not made by NewPool":                 func() { New(Config{Run: none}, fire) },
		"Pool that was not made by NewPool":   func() { New(Config{Run: new(Pool)}, fire) },
		"a nil RunnerFunc":                    func() { NewTimers(Config{Run: RunnerFunc(nil)}) },
		"AfterFunc without a function":        func() { tm.AfterFunc(1, nil) },
		"interval of 0s for NewTicker":        func() { tm.NewTicker(0) },
		"interval of -1ns for NewTicker":      func() { tm.NewTicker(-1) },
		"interval of 0s for Ticker.Reset":     func() { k := tm.NewTicker(time.Hour); defer k.Stop(); k.Reset(0) },
		"Reset of a Ticker that was not made": func() { new(Ticker).Reset(1) },
		"Every without a function":            func() { tm.Every(1, nil, EveryOptions{}) },
		"period of 0s":                        func() { tm.Every(0, f, EveryOptions{}) },
		"period of 0s for Every or its Reset": func() { s := tm.Every(time.Hour, f, EveryOptions{}); defer s.Stop(); s.Reset(0) },
		"EveryOptions.Jitter is -0.1":         func() { tm.Every(1, f, EveryOptions{Jitter: -0.1}) },
		"EveryOptions.Jitter is 1.1":          func() { tm.Every(1, f, EveryOptions{Jitter: 1.1}) },
		"EveryOptions.Jitter is NaN":          func() { tm.Every(1, f, EveryOptions{Jitter: math.NaN()}) },
		"EveryOptions.Missed is -1":           func() { tm.Every(1, f, EveryOptions{Missed: -1}) },
		"EveryOptions.Missed is 3":            func() { tm.Every(1, f, EveryOptions{Missed: FixedDelay + 1}) },
		"ScheduleFunc without a schedule":     func() { tm.ScheduleFunc(nil, f) },
		"ScheduleFunc without a function":     func() { tm.ScheduleFunc(hourly, nil) },
		"cannot create context from nil":      func() { tm.WithTimeout(nil, 1) }, //nolint:staticcheck // nil is the point
		"Stop called on uninitialized Timer":  func() { new(Timer).Stop() },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "wheel: ") || !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			wrong()
		}()
	}
	if n := tm.Len(); n != 0 {
		t.Errorf("%d pending", n)
	}
}
