package wheel

import (
	"context"
	"errors"
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
