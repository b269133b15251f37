package idle

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntrackDuringTheCallReturnsFalseAndEndsTheWatch(t *testing.T) {
	for _, v := range []Verdict{Close, Keep, KeepFor(time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			var g *Group[*conn]
			g = New(Config{ReadIdle: time.Second}, func(c *conn, _ Reason) Verdict {
				if g.Untrack(&c.Entry) {
					t.Error("untracked while it is asked about")
				}
				return v
			})
			c := newConn()
			track(t, g, c, &c.Entry)
			time.Sleep(2 * time.Second)
			if g.Len() != 0 || c.isClosed() != (v == Close) {
				t.Errorf("%d are tracked; closed: %v", g.Len(), c.isClosed())
			}
			track(t, g, c, &c.Entry) // the entry is free again
			g.Close()
		})
	}
}

func TestAnUntrackedConnectionGetsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		g := New(Config{ReadIdle: time.Second, Resolution: 100 * time.Millisecond, Workers: 1}, func(*conn, Reason) Verdict {
			calls.Add(1)
			<-release
			return Close
		})
		all := make([]*conn, 10)
		for k := range all {
			all[k] = newConn()
			track(t, g, all[k], &all[k].Entry)
		}
		time.Sleep(2 * time.Second) // all are due, and `on` is running for one
		untracked := 0
		for _, c := range all {
			if g.Untrack(&c.Entry) {
				untracked++
				track(t, g, c, &c.Entry) // its entry may be used again at once
			}
		}
		if calls.Load() != 1 || untracked != 9 || g.Len() != 10 {
			t.Errorf("%d calls, %d untracked, %d tracked", calls.Load(), untracked, g.Len())
		}
		close(release)
		time.Sleep(500 * time.Millisecond)
		if calls.Load() != 1 || g.Len() != 9 {
			t.Errorf("%d calls, %d tracked", calls.Load(), g.Len())
		}
		g.Close()
	})
}

func TestAFunctionThatEndsItsGoroutineKeepsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := New(Config{ReadIdle: time.Second, Workers: 1}, func(*conn, Reason) Verdict {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
			return Close
		})
		c := newConn()
		track(t, g, c, &c.Entry)
		<-c.closed
		synctest.Wait()
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestACallMayUseTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *Group[*conn]
		g = New(Config{ReadIdle: time.Second}, func(_ *conn, r Reason) Verdict {
			if r == Evicted {
				return Close
			}
			other := newConn()
			track(t, g, other, &other.Entry)
			g.SetPressure(0.5)
			g.SetPressure(0)
			for range g.All() {
				g.Len()
			}
			if n := g.EvictIdlest(5); n != 1 { // only the other: `on` is running for this one
				t.Errorf("%d evicted", n)
			}
			g.Stats()
			g.Close()
			return Close
		})
		c := newConn()
		track(t, g, c, &c.Entry)
		<-c.closed
	})
}

// Many operations hit a connection at the same time. It must end once: by a
// close, or by an Untrack that returned true. Its Entry comes from a pool and
// serves the next connection at once.
func TestAConnectionEndsOnceUnderConcurrentOperations(t *testing.T) {
	rounds := 200_000
	if testing.Short() {
		rounds = 20_000
	}
	type pooled struct {
		Entry
		life  atomic.Uint32
		asked atomic.Uint32 // the use of the Entry in which `on` was last called
	}
	type ref struct { // the connection, with a pooled part that is used again
		*pooled
		life uint32
	}
	var wrong, closed atomic.Uint64
	pool := sync.Pool{New: func() any { return new(pooled) }}
	g := New(Config{ReadIdle: 2 * time.Millisecond, MaxAge: 20 * time.Millisecond, Resolution: time.Millisecond, Workers: 4},
		func(c ref, _ Reason) Verdict {
			if c.pooled.life.Load() != c.life || c.asked.Swap(c.life) == c.life {
				wrong.Add(1) // of another use, or twice
			}
			closed.Add(1)
			return Close
		})
	var lives atomic.Uint32
	var wg sync.WaitGroup
	var untracked atomic.Uint64
	for range 8 {
		wg.Go(func() {
			for range rounds / 8 {
				p := pool.Get().(*pooled)
				life := lives.Add(1)
				p.life.Store(life)
				track(t, g, ref{p, life}, &p.Entry)
				p.TouchRead()
				if life%3 == 0 {
					time.Sleep(time.Duration(life%4) * time.Millisecond) // real time: the race is the point
				}
				p.TouchWrite()
				p.Pong()
				if life%5 == 0 {
					g.EvictIdlest(1)
				}
				if g.Untrack(&p.Entry) {
					untracked.Add(1)
					if p.asked.Load() == life {
						wrong.Add(1) // `on` ran, but Untrack returned true
					}
					pool.Put(p)
				}
			}
		})
	}
	wg.Wait()
	tracked := g.Stats().Tracked
	for g.Len() > 0 {
		runtime.Gosched()
	}
	if wrong.Load() > 0 || untracked.Load()+closed.Load() != tracked {
		t.Errorf("%d wrong; %d untracked, %d closed of %d", wrong.Load(), untracked.Load(), closed.Load(), tracked)
	}
	t.Logf("%d untracked, %d closed", untracked.Load(), closed.Load())
	g.Close()
}
