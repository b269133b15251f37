package idle

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// conn is a virtual connection: it can only be touched and closed.
type conn struct {
	Entry
	closed chan struct{}
}

func newConn() *conn { return &conn{closed: make(chan struct{})} }

func (c *conn) Close() error {
	close(c.closed) // a second close would panic
	return nil
}

func (c *conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func closing(*conn, Reason) Verdict { return Close }

func track[C any](t testing.TB, g *Group[C], c C, e *Entry) {
	t.Helper()
	if err := g.Track(c, e); err != nil {
		t.Fatal(err)
	}
}

func TestAnUntouchedConnectionIsClosedAfterItsTimeoutAndWithinTwoResolutions(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 999 * time.Millisecond, 1234567 * time.Microsecond} {
		for _, offset := range []time.Duration{0, 1, 17 * time.Millisecond, 49999 * time.Microsecond} {
			synctest.Test(t, func(t *testing.T) {
				const resolution = 100 * time.Millisecond
				g := New(Config{ReadIdle: timeout, Resolution: resolution}, closing)
				track(t, g, newConn(), new(Entry)) // another connection keeps the steps going
				time.Sleep(offset)
				c := newConn()
				track(t, g, c, &c.Entry)
				start := time.Now()
				<-c.closed
				if took := time.Since(start); took < timeout || took > timeout+2*resolution {
					t.Errorf("offset %v: closed after %v of %v", offset, took, timeout)
				}
			})
		}
	}
}

func TestATouchedConnectionIsNotClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Second
		g := New(Config{ReadIdle: timeout, Resolution: 100 * time.Millisecond}, closing)
		c := newConn()
		track(t, g, c, &c.Entry)
		for range 1000 {
			time.Sleep(timeout - 1)
			c.TouchRead()
		}
		if c.isClosed() {
			t.Fatal("closed")
		}
		start := time.Now()
		<-c.closed
		if took := time.Since(start); took < timeout || took > timeout+200*time.Millisecond {
			t.Errorf("closed %v after the last touch", took)
		}
		if g.Len() != 0 {
			t.Errorf("%d are tracked", g.Len())
		}
	})
}

func TestEachReasonComesAtItsTime(t *testing.T) {
	const never = time.Duration(-1)
	every := func(d time.Duration, touch func(*Entry)) func(*Entry) {
		return func(e *Entry) {
			for range int(time.Minute / d) {
				time.Sleep(d)
				touch(e)
			}
		}
	}
	for _, c := range []struct {
		name   string
		cfg    Config
		peer   func(*Entry)
		reason Reason
		after  time.Duration
	}{
		{"read", Config{ReadIdle: 5 * time.Second}, every(time.Second, (*Entry).TouchWrite), ReadIdle, 5 * time.Second},
		{"write", Config{WriteIdle: 5 * time.Second}, every(time.Second, (*Entry).TouchRead), WriteIdle, 5 * time.Second},
		{"all, read", Config{AllIdle: 5 * time.Second}, every(time.Second, (*Entry).TouchRead), 0, never},
		{"all, written", Config{AllIdle: 5 * time.Second}, every(time.Second, (*Entry).TouchWrite), 0, never},
		{"all, ponged", Config{AllIdle: 5 * time.Second}, every(time.Second, (*Entry).Pong), AllIdle, 5 * time.Second},
		{"age", Config{MaxAge: 20 * time.Second, Jitter: -1}, every(time.Second, (*Entry).TouchRead), Age, 20 * time.Second},
		{"handshake", Config{Handshake: 5 * time.Second}, every(time.Second, (*Entry).TouchWrite), Handshake, 5 * time.Second},
		{"handshake, read at once", Config{Handshake: 5 * time.Second}, (*Entry).TouchRead, 0, never},
		{"handshake, read late", Config{Handshake: 5 * time.Second}, every(4*time.Second, (*Entry).TouchRead), 0, never},
		{"ping", Config{PingEvery: 5 * time.Second, Jitter: -1}, every(time.Second, (*Entry).TouchWrite), Ping, 5 * time.Second},
		{"ping, read", Config{PingEvery: 5 * time.Second}, every(time.Second, (*Entry).TouchRead), 0, never},
		{"ping, ponged", Config{PingEvery: 5 * time.Second}, every(time.Second, (*Entry).Pong), 0, never},
		{"never", Config{AllIdle: Never}, func(*Entry) {}, 0, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.cfg.Resolution = 100 * time.Millisecond
				start := time.Now()
				after, reason := never, Reason(0)
				g := New(c.cfg, func(_ *conn, r Reason) Verdict {
					if reason == 0 {
						after, reason = time.Since(start), r
					}
					return Close
				})
				conn := newConn()
				track(t, g, conn, &conn.Entry)
				c.peer(&conn.Entry)
				time.Sleep(time.Until(start.Add(time.Minute)))
				g.Close()
				if reason != c.reason || after < c.after || after > c.after+200*time.Millisecond {
					t.Errorf("%v after %v; want %v after %v", reason, after, c.reason, c.after)
				}
			})
		})
	}
}

func TestAnAnsweredPingIsRepeatedAndAnUnansweredPingEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type event struct {
			at time.Duration
			r  Reason
		}
		var events []event
		var mu sync.Mutex
		start := time.Now()
		answers := 2
		g := New(Config{
			PingEvery: 10 * time.Second, PongWait: 3 * time.Second, MaxMissed: 3, Jitter: -1, Resolution: 100 * time.Millisecond,
		}, func(c *conn, r Reason) Verdict {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, event{time.Since(start), r})
			if r != Ping {
				return Close
			}
			if answers > 0 {
				answers--
				time.AfterFunc(2900*time.Millisecond, c.Pong)
			}
			return Keep
		})
		c := newConn()
		track(t, g, c, &c.Entry)
		<-c.closed
		want := []event{ // the first two pings are answered after 2.9 s
			{10000 * time.Millisecond, Ping},
			{22900 * time.Millisecond, Ping},
			{35800 * time.Millisecond, Ping},
			{38800 * time.Millisecond, Ping},
			{41800 * time.Millisecond, Ping},
			{44800 * time.Millisecond, PongTimeout},
		}
		if len(events) != len(want) {
			t.Fatalf("%v", events)
		}
		for k, e := range events {
			slack := time.Duration(k+1) * 200 * time.Millisecond
			if e.r != want[k].r || e.at < want[k].at || e.at > want[k].at+slack {
				t.Errorf("%v after %v; want %v after %v", e.r, e.at, want[k].r, want[k].at)
			}
		}
	})
}

func TestTrackReturnsTheReasonOfARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, other := New(Config{AllIdle: Never}, closing), New(Config{AllIdle: Never}, closing)
		c := newConn()
		track(t, g, c, &c.Entry)
		for _, again := range []*Group[*conn]{g, other} {
			if err := again.Track(c, &c.Entry); !errors.Is(err, ErrTracked) {
				t.Errorf("tracked twice: %v", err)
			}
		}
		if other.Untrack(&c.Entry) {
			t.Error("untracked by another group")
		}
		if !g.Untrack(&c.Entry) || g.Untrack(&c.Entry) {
			t.Error("untracked not once")
		}
		track(t, other, c, &c.Entry)
		other.Close()
		if err := other.Track(c, &c.Entry); !errors.Is(err, ErrClosed) {
			t.Errorf("tracked by a closed group: %v", err)
		}
		track(t, g, c, &c.Entry)
		if err := g.Drain(context.Background(), 0); err != nil {
			t.Error(err)
		}
		if err := g.Track(c, &c.Entry); !errors.Is(err, ErrClosed) {
			t.Errorf("tracked after a drain: %v", err)
		}
	})
}
