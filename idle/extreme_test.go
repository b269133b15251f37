package idle

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// timeouts are all settings with a time after which a group acts: the reason
// that it then gives, and the Config.
var timeouts = map[string]struct {
	reason Reason
	config func(d time.Duration) Config
}{
	"ReadIdle":  {ReadIdle, func(d time.Duration) Config { return Config{ReadIdle: d} }},
	"WriteIdle": {WriteIdle, func(d time.Duration) Config { return Config{WriteIdle: d} }},
	"AllIdle":   {AllIdle, func(d time.Duration) Config { return Config{AllIdle: d} }},
	"MaxAge":    {Age, func(d time.Duration) Config { return Config{MaxAge: d} }},
	"Handshake": {Handshake, func(d time.Duration) Config { return Config{Handshake: d} }},
	"PingEvery": {Ping, func(d time.Duration) Config { return Config{PingEvery: d} }},
	"PongWait": {PongTimeout, func(d time.Duration) Config {
		if d <= 0 {
			return Config{AllIdle: Never}
		}
		return Config{PingEvery: time.Minute, PongWait: d}
	}},
	"KeepFor": {AllIdle, func(time.Duration) Config { return Config{AllIdle: time.Second} }},
}

func TestALongerTimeoutNeverActsEarlierThanAShorterOne(t *testing.T) {
	const never, far, watched = math.MaxInt64, math.MaxInt64, 30 * time.Minute
	// With a pressure, half of a timeout is left.
	durations := []time.Duration{1, time.Second, time.Second + 1, time.Minute, 10 * time.Minute, far/2 - 1, far / 2, far - 1, far}
	off := []time.Duration{math.MinInt64, math.MinInt64 + 1, Never, 0}
	for name, c := range timeouts {
		for _, pressure := range []float64{0, 0.5} {
			// after returns when a group acts on a silent connection.
			after := func(d time.Duration) (took time.Duration) {
				took = never
				synctest.Test(t, func(t *testing.T) {
					cfg := c.config(d)
					cfg.Resolution, cfg.Jitter = time.Second, -1
					if !cfg.timed() {
						cfg.AllIdle = Never
					}
					var mu sync.Mutex // guards the next two, and took
					var begun time.Time
					kept := false
					since := func() time.Duration {
						mu.Lock()
						defer mu.Unlock()
						return time.Since(begun)
					}
					g := New(cfg, func(_ *conn, r Reason) Verdict {
						mu.Lock()
						defer mu.Unlock()
						switch {
						case name == "KeepFor" && !kept:
							begun, kept = time.Now(), true
							return KeepFor(d)
						case r == Ping && c.reason != Ping:
							begun = time.Now()
							return Keep()
						case r != c.reason:
							t.Errorf("%s of %v: %v", name, d, r)
						}
						took = time.Since(begun)
						return Close()
					})
					g.SetPressure(pressure)
					x := newConn()
					begun = time.Now()
					track(t, g, x, &x.Entry)
					for since() < watched && g.Len() > 0 {
						time.Sleep(time.Minute)
					}
					g.Close()
					synctest.Wait()
				})
				return took
			}
			last := time.Duration(0)
			for _, d := range durations {
				took := after(d)
				promised := d
				if pressure > 0 && c.reason < Ping && name != "KeepFor" {
					promised = d / 2
				}
				if took < last || took < promised || took == never && promised < watched/2 {
					t.Errorf("%s of %v, pressure %v: after %v, and after %v with the shorter one before", name, d, pressure, took, last)
				}
				last = took
			}
			for _, d := range off {
				want := time.Duration(never)
				if name == "KeepFor" { // zero or less asks again after two resolutions
					want = 2 * time.Second
				}
				if took := after(d); took != want {
					t.Errorf("%s of %v: after %v, want %v", name, d, took, want)
				}
			}
		}
	}
}

func TestALongerSpreadNeverDrainsEarlierThanAShorterOne(t *testing.T) {
	var last []time.Duration
	for _, spread := range []time.Duration{math.MinInt64, -time.Hour, -1, 0, 1, time.Second, time.Minute, math.MaxInt64 - 1, math.MaxInt64} {
		var closed []time.Duration
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			g := New(Config{AllIdle: Never, Resolution: 100 * time.Millisecond, Workers: 1}, func(*conn, Reason) Verdict {
				closed = append(closed, time.Since(begun))
				return Close()
			})
			for range 100 {
				trackNew(t, g)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			_ = g.Drain(ctx, spread)
			synctest.Wait()
			g.Close()
		})
		for k := range closed {
			if k >= len(last) && last != nil || last != nil && closed[k] < last[k] {
				t.Errorf("with a spread of %v number %d was closed after %v, earlier than with the shorter one before", spread, k, closed[k])
			}
		}
		if spread <= time.Minute && len(closed) != 100 {
			t.Errorf("with a spread of %v: %d of 100 were closed", spread, len(closed))
		}
		last = closed
	}
}

func TestADrainOfVeryManyPartsDoesNotOverflow(t *testing.T) {
	for _, c := range []struct{ part, connections, parts, want uint64 }{
		{0, 5, 3, 0},
		{1, 5, 3, 2},
		{2, 5, 3, 4},
		{3, 5, 3, 5},
		{1 << 40, 1 << 28, 1 << 43, 1 << 25},
		{1<<43 - 1, 1 << 28, 1 << 43, 1 << 28},
		{1<<63 - 1, 1 << 28, 1<<63 - 1, 1 << 28},
	} {
		if got := firstOf(c.part, c.connections, c.parts); got != c.want {
			t.Errorf("part %d of %d begins at connection %d of %d, want %d", c.part, c.parts, got, c.connections, c.want)
		}
	}
}
