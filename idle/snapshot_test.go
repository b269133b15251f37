package idle

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A touch just before `on` would be called, or just before the close, keeps the
// connection.

func TestATouchBeforeTheLastLookPreventsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var blocker, c *conn
		g := New(Config{ReadIdle: time.Second, Resolution: 100 * time.Millisecond, Workers: 1}, func(c *conn, _ Reason) Verdict {
			if c == blocker {
				<-release
			}
			return Close()
		})
		blocker, c = newConn(), newConn()
		track(t, g, blocker, &blocker.Entry)
		time.Sleep(100 * time.Millisecond)
		track(t, g, c, &c.Entry)
		time.Sleep(2 * time.Second) // both are due; the only worker is busy with the first
		if s := g.Stats(); s.Queued != 1 {
			t.Fatalf("queued: %d", s.Queued)
		}
		c.TouchRead()
		close(release)
		synctest.Wait()
		if c.isClosed() || g.Stats().Spared != 1 {
			t.Errorf("closed: %v; saved: %d", c.isClosed(), g.Stats().Spared)
		}
		<-c.closed // after another timeout
	})
}

func TestAReadWhileTheFunctionRunsPreventsTheClose(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		reason Reason
		touch  func(*Entry)
		saved  bool
	}{
		{Config{ReadIdle: time.Second}, ReadIdle, (*Entry).TouchRead, true},
		{Config{AllIdle: time.Second}, AllIdle, (*Entry).TouchRead, true},
		{Config{Handshake: time.Second}, Handshake, (*Entry).TouchRead, true},
		{Config{PingEvery: time.Second}, PongTimeout, (*Entry).Pong, true},
		{Config{PingEvery: time.Second}, PongTimeout, (*Entry).TouchRead, true},
		{Config{AllIdle: time.Second}, AllIdle, (*Entry).TouchWrite, false}, // the program's own goodbye
		{Config{WriteIdle: time.Second}, WriteIdle, (*Entry).TouchWrite, false},
		{Config{WriteIdle: time.Second}, WriteIdle, (*Entry).TouchRead, false},
		{Config{ReadIdle: time.Second}, ReadIdle, (*Entry).Pong, false},
		{Config{MaxAge: time.Second}, Age, (*Entry).TouchRead, false},
		{Config{PingEvery: time.Second}, Ping, (*Entry).TouchRead, false}, // the ping could not be sent
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			c.cfg.Resolution = 100 * time.Millisecond
			g := New(c.cfg, func(conn *conn, r Reason) Verdict {
				if r != c.reason {
					return Keep()
				}
				if calls++; calls == 1 {
					c.touch(&conn.Entry)
				}
				return Close()
			})
			conn := trackNew(t, g)
			time.Sleep(20 * time.Second)
			if saved := g.Stats().Spared > 0; saved != c.saved {
				t.Errorf("%v: saved %v", c.reason, saved)
			}
			if conn.isClosed() != (c.reason != Handshake) { // after a read, the handshake is over
				t.Errorf("%v: closed %v", c.reason, conn.isClosed())
			}
			g.Close()
		})
	}
}

func TestAPongThatCameBeforeOnReturnedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pings, timeouts := 0, 0
		g := New(Config{PingEvery: 10 * time.Second, PongWait: 5 * time.Second, Jitter: -1, Resolution: 100 * time.Millisecond},
			func(c *conn, r Reason) Verdict {
				if r == PongTimeout {
					timeouts++
					return Close()
				}
				pings++
				c.Pong()                    // a fast peer
				time.Sleep(3 * time.Second) // on a slow path
				return Keep()
			})
		c := trackNew(t, g)
		time.Sleep(time.Minute)
		synctest.Wait()
		if timeouts > 0 || pings < 4 {
			t.Errorf("%d pings, %d timeouts", pings, timeouts)
		}
		g.Untrack(&c.Entry)
	})
}

func TestAPongDuringTheNextPingIsNotAMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reasons []Reason
		g := New(Config{PingEvery: 10 * time.Second, PongWait: 5 * time.Second, MaxMissed: 2, Jitter: -1, Resolution: 100 * time.Millisecond},
			func(c *conn, r Reason) Verdict {
				if reasons = append(reasons, r); len(reasons) == 2 {
					c.Pong() // answers only the first ping
					time.Sleep(time.Second)
				}
				if r == PongTimeout {
					return Close()
				}
				return Keep()
			})
		c := trackNew(t, g)
		<-c.closed
		synctest.Wait()
		// The pong came in the step in which the second ping began, so it
		// answers that ping too.
		if want := []Reason{Ping, Ping, Ping, Ping, PongTimeout}; !slices.Equal(reasons, want) {
			t.Errorf("%v, want %v", reasons, want)
		}
	})
}

func TestThePeerHasTheWholePongWaitAfterASlowPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent time.Time
		g := New(Config{PingEvery: 10 * time.Second, PongWait: 5 * time.Second, Jitter: -1, Resolution: 100 * time.Millisecond},
			func(c *conn, r Reason) Verdict {
				if r == Ping {
					time.Sleep(4 * time.Second)
					sent = time.Now()
					return Keep()
				}
				if waited := time.Since(sent); waited < 5*time.Second {
					t.Errorf("given up %v after the ping", waited)
				}
				return Close()
			})
		c := trackNew(t, g)
		<-c.closed
	})
}

func TestAnOldVerdictDoesNotHoldAgainAfterTheWrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := New(Config{ReadIdle: time.Second, PingEvery: 10 * time.Minute, Resolution: time.Millisecond}, func(_ *conn, r Reason) Verdict {
			if r == Ping {
				return Keep()
			}
			if calls++; calls == 1 {
				return Keep()
			}
			return Close()
		})
		c := trackNew(t, g)
		time.Sleep(1500 * time.Millisecond) // kept once
		for range 9 {                       // 2^31 steps + some = 14 days of activity
			c.TouchRead()
			stall(g, time.Duration(1<<28)*g.grid.step)
			synctest.Wait()
			c.TouchRead()
		}
		start := time.Now()
		time.Sleep(10 * time.Second)
		if !c.isClosed() {
			t.Errorf("not closed %v after its last touch with ReadIdle 1s", time.Since(start))
			g.Untrack(&c.Entry)
		}
	})
}
