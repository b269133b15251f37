package idle

import (
	"testing"
	"testing/synctest"
	"time"
)

// stall delays the group's driver for a time, as a stopped process or a
// sleeping machine does.
func stall[C any](g *Group[C], d time.Duration) {
	stop(g, d)
	g.tick()
}

// stop stalls until just before the driver runs again.
func stop[C any](g *Group[C], d time.Duration) {
	synctest.Wait() // a step that is due now is taken first
	g.mu.Lock()
	g.driver.Stop()
	g.mu.Unlock()
	time.Sleep(d)
}

func TestAfterAStallEachConnectionHasAFullTimeout(t *testing.T) {
	for _, cfg := range []Config{
		{ReadIdle: time.Second}, {WriteIdle: time.Second}, {AllIdle: time.Second}, {Handshake: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg.Resolution = 100 * time.Millisecond
			g := New(cfg, closing)
			silent, live := trackNew(t, g), trackNew(t, g)
			time.Sleep(900 * time.Millisecond)
			stall(g, 2*time.Second)
			woken := time.Now()
			if s := g.Stats(); s.Stalls != 1 {
				t.Errorf("%d stalls", s.Stalls)
			}
			time.Sleep(time.Second - 1)
			if silent.isClosed() || live.isClosed() {
				t.Error("closed before it could speak")
			}
			live.TouchRead()
			live.TouchWrite()
			<-silent.closed
			if took := time.Since(woken); took > 1200*time.Millisecond {
				t.Errorf("closed %v after the stall", took)
			}
			if live.isClosed() {
				t.Error("a live connection was closed")
			}
			g.Close()
		})
	}
}

func TestAfterAStallAPongHasItsFullWait(t *testing.T) {
	for _, wait := range []Verdict{Keep(), KeepFor(2 * time.Second)} {
		stallWithAPingOut(t, wait)
	}
}

func stallWithAPingOut(t *testing.T, wait Verdict) {
	synctest.Test(t, func(t *testing.T) {
		pings, timeouts := 0, 0
		g := New(Config{PingEvery: 10 * time.Second, PongWait: 2 * time.Second, Jitter: -1, Resolution: 100 * time.Millisecond},
			func(_ *conn, r Reason) Verdict {
				if r == Ping {
					pings++
					return wait
				}
				timeouts++
				return Close()
			})
		c := trackNew(t, g)
		time.Sleep(11 * time.Second)
		stall(g, time.Minute)
		time.Sleep(1900 * time.Millisecond)
		c.Pong()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if pings != 1 || timeouts != 0 {
			t.Errorf("%d pings, %d timeouts", pings, timeouts)
		}
		g.Close()
	})
}

func TestAnAgeRunsOnDuringAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{MaxAge: 10 * time.Second}, closing)
		c := trackNew(t, g)
		time.Sleep(time.Second)
		stall(g, time.Minute)
		synctest.Wait()
		if !c.isClosed() {
			t.Error("not closed")
		}
	})
}

func TestNothingWakesUpWhileTheGroupIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{ReadIdle: time.Second}, closing)
		steps := func() uint64 {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.grid.now
		}
		time.Sleep(time.Hour)
		if n := steps(); n != 0 {
			t.Errorf("%d steps before the first connection", n)
		}
		for range 3 {
			c := trackNew(t, g)
			time.Sleep(500 * time.Millisecond)
			if !g.Untrack(&c.Entry) {
				t.Error("not untracked")
			}
			time.Sleep(time.Second)
			before := steps()
			time.Sleep(time.Hour)
			if n := steps() - before; n != 0 {
				t.Errorf("%d steps while it was empty", n)
			}
			if s := g.Stats(); s.Stalls != 0 {
				t.Errorf("%d stalls", s.Stalls)
			}
		}
	})
}

func TestAConnectionRightAfterAStallHasItsWholeAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{MaxAge: 10 * time.Second, Jitter: -1}, closing)
		first, c := newConn(), newConn()
		track(t, g, first, &first.Entry)
		time.Sleep(time.Second)
		stop(g, time.Minute)
		track(t, g, c, &c.Entry)
		start := time.Now()
		g.tick()
		<-c.closed
		if took := time.Since(start); took < 10*time.Second {
			t.Errorf("closed at age %v", took)
		}
	})
}

func TestAVerdictHoldsFromItsReturnAfterAStallInOn(t *testing.T) {
	for _, cfg := range []Config{{MaxAge: time.Second, Jitter: -1, Resolution: 250 * time.Millisecond}, {ReadIdle: time.Second, Resolution: 250 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var asked []time.Time
			g := New(cfg, func(*conn, Reason) Verdict {
				asked = append(asked, time.Now())
				if len(asked) == 1 {
					<-release
					return KeepFor(time.Hour)
				}
				return Close()
			})
			c := trackNew(t, g)
			time.Sleep(1500 * time.Millisecond)
			stop(g, 2*time.Hour)
			kept := time.Now()
			close(release)
			synctest.Wait()
			g.tick()
			<-c.closed
			if took := asked[1].Sub(kept); took < time.Hour {
				t.Errorf("%+v: asked again %v after KeepFor(1h)", cfg, took)
			}
		})
	}
}
