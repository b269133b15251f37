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
			id, err := w.TryAdd(time.Hour, 2)
			if id|w.Add(time.Hour, 2)|w.AddSlack(time.Hour, time.Minute, 2)|w.AddAt(time.Now().Add(time.Hour), 2) != 0 || !errors.Is(err, want) {
				t.Errorf("a wheel took a timer, or its error is %v, want %v", err, want)
			}
		}
		id := w.Add(time.Hour, 1)
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
		k.Close()
		_, _ = k.Set("a", time.Hour, 6)
		_, _ = k.SetIfAbsent("a", time.Hour, 7)
		if s := k.Stats(); s.Refused != 4 || s.Added != 1 {
			t.Errorf("Keyed: %d refused, %d added, want 4 and 1", s.Refused, s.Added)
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

// An invalid argument is a bug of the caller, and the message names it.
func TestInvalidArgumentsPanicAtOnce(t *testing.T) {
	var tm Timers
	var none *Pool
	f, fire := func() {}, func(int) {}
	for want, wrong := range map[string]func(){
		"Config.Tick is 1ns":                  func() { New(Config{Tick: 1}, fire) },
		"Config.Shards is 257":                func() { NewBatch(Config{Shards: maxShards + 1}, func([]Expired[int]) {}) },
		"Config.Shards is -1":                 func() { NewKeyed(Config{Shards: -1}, func(int, int) {}) },
		"Config.MaxPending is -1":             func() { NewTimers(Config{MaxPending: -1}) },
		"New without a callback":              func() { New[int](Config{}, nil) },
		"NewBatch without a callback":         func() { NewBatch[int](Config{}, nil) },
		"NewKeyed without a callback":         func() { NewKeyed[int, int](Config{}, nil) },
		"NewPool with 0 workers":              func() { NewPool(0, 1, Block) },
		"NewPool with a queue of -1":          func() { NewPool(1, -1, Drop) },
		"NewPool with Overflow 3":             func() { NewPool(1, 1, Spill+1) },
		"NewPool with Overflow -1":            func() { NewPool(1, 1, -1) },
		"Run of a Pool without a function":    func() { NewPool(1, 1, Spill).Run(nil) },
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
