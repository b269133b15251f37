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
	for _, v := range []Verdict{Close(), Keep(), KeepFor(time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			var g *Group[*conn]
			g = New(Config{ReadIdle: time.Second}, func(c *conn, _ Reason) Verdict {
				if g.Untrack(&c.Entry) {
					t.Error("untracked while it is asked about")
				}
				return v
			})
			c := trackNew(t, g)
			time.Sleep(2 * time.Second)
			if g.Len() != 0 || c.isClosed() != (v == Close()) {
				t.Errorf("%d are tracked; closed: %v", g.Len(), c.isClosed())
			}
			track(t, g, c, &c.Entry) // the entry is free again
			g.Close()
		})
	}
}

func TestAFunctionThatEndsItsGoroutineKeepsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := New(Config{ReadIdle: time.Second, Workers: 1}, func(*conn, Reason) Verdict {
			if calls++; calls == 1 {
				runtime.Goexit()
			}
			return Close()
		})
		c := trackNew(t, g)
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
				return Close()
			}
			trackNew(t, g)
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
			return Close()
		})
		c := trackNew(t, g)
		<-c.closed
	})
}

// onceConn is one use of a pooled Entry.
type onceConn struct {
	*onceEntry
	life  uint32
	wrong *atomic.Uint64
}

type onceEntry struct {
	Entry
	life   atomic.Uint32 // the use that is tracked; 0: none
	asking atomic.Bool   // the callback is running
}

// Close counts the close, once for each use.
func (c onceConn) Close() error {
	if !c.onceEntry.life.CompareAndSwap(c.life, 0) {
		c.wrong.Add(1) // after Untrack returned true, or the second time
	}
	return nil
}

// Many operations hit a connection at the same time. It must end once: by a
// close, or by an Untrack that returned true. Its Entry comes from a pool and
// serves the next connection at once. The callback may be called several times:
// the group keeps a connection that speaks during the call.
func TestAConnectionEndsOnceUnderConcurrentOperations(t *testing.T) {
	rounds := 200_000
	if testing.Short() {
		rounds = 20_000
	}
	var wrong atomic.Uint64
	pool := sync.Pool{New: func() any { return new(onceEntry) }}
	g := New(Config{ReadIdle: 2 * time.Millisecond, MaxAge: 20 * time.Millisecond, Resolution: time.Millisecond, Workers: 4},
		func(c onceConn, _ Reason) Verdict {
			if c.onceEntry.life.Load() != c.life || c.asking.Swap(true) {
				wrong.Add(1) // of another use, or two at a time
			}
			runtime.Gosched() // time for a touch, which spares the connection
			c.asking.Store(false)
			return Close()
		})
	var lives atomic.Uint32
	var wg sync.WaitGroup
	var untracked atomic.Uint64
	for range 8 {
		wg.Go(func() {
			for range rounds / 8 {
				e := pool.Get().(*onceEntry)
				life := lives.Add(1)
				e.life.Store(life)
				track(t, g, onceConn{e, life, &wrong}, &e.Entry)
				e.TouchRead()
				if life%3 == 0 {
					time.Sleep(time.Duration(life%4) * time.Millisecond) // real time: the race is the point
				}
				e.TouchRead()
				e.TouchWrite()
				e.Pong()
				if life%5 == 0 {
					g.EvictIdlest(1)
				}
				if g.Untrack(&e.Entry) {
					untracked.Add(1)
					if e.asking.Load() || !e.life.CompareAndSwap(life, 0) {
						wrong.Add(1) // the callback is running, or the connection was closed
					}
					pool.Put(e)
				}
			}
		})
	}
	wg.Wait()
	for g.Len() > 0 {
		runtime.Gosched()
	}
	if err := g.Drain(t.Context(), 0); err != nil { // waits for the last Close
		t.Fatal(err)
	}
	s := g.Stats()
	var closed uint64
	for r := range Evicted + 1 {
		closed += s.Closed.Of(r)
	}
	if wrong.Load() > 0 || untracked.Load() != s.Untracked || untracked.Load()+closed != uint64(rounds) {
		t.Errorf("%d wrong; %d untracked, %d closed of %d", wrong.Load(), untracked.Load(), closed, rounds)
	}
	t.Logf("%d untracked, %d closed, %d spared", untracked.Load(), closed, s.Spared)
}
