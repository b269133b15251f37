package idle

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func TestPressureShortensEveryTimeoutAtOnceAndLessRestoresIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const resolution = 100 * time.Millisecond
		g := New(Config{ReadIdle: 100 * time.Second, Resolution: resolution}, closing)
		old, young := newConn(), newConn()
		track(t, g, old, &old.Entry)
		time.Sleep(30 * time.Second)
		track(t, g, young, &young.Entry)
		time.Sleep(10 * time.Second)
		g.SetPressure(0.7) // 100 s shrink to 30 s
		time.Sleep(2 * resolution)
		if !old.isClosed() || young.isClosed() {
			t.Errorf("old closed: %v, young: %v", old.isClosed(), young.isClosed())
		}
		time.Sleep(10 * time.Second) // the young one is idle for 20 s
		g.SetPressure(0)
		time.Sleep(79 * time.Second)
		if young.isClosed() {
			t.Error("closed by a pressure that has passed")
		}
		time.Sleep(time.Second + 2*resolution)
		if !young.isClosed() {
			t.Error("not closed after its timeout")
		}
	})
}

func TestPressureOutOfRangeIsClamped(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, func(int, Reason) Verdict { return Close() })
	all := g.policy.all
	for p, want := range map[float64]float64{-1: 0, 0.25: 0.25, 2: 1, math.Inf(1): 1, math.Inf(-1): 0} {
		if g.SetPressure(p); g.pressure != want {
			t.Errorf("the pressure is %v after SetPressure(%v), want %v", g.pressure, p, want)
		}
	}
	g.SetPressure(0.5)
	if g.SetPressure(math.NaN()); g.pressure != 0 || g.policy.all != all {
		t.Errorf("after SetPressure(NaN) the pressure is %v, and a timeout has %d steps, want %d", g.pressure, g.policy.all, all)
	}
}

func TestEvictionClosesTheIdlestAndSparesThoseUsedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		var evicted []*conn
		g := New(Config{AllIdle: Never, Workers: 1, Resolution: 100 * time.Millisecond}, func(c *conn, r Reason) Verdict {
			<-release
			mu.Lock()
			defer mu.Unlock()
			if r != Evicted {
				t.Errorf("%v", r)
			}
			evicted = append(evicted, c)
			return Close()
		})
		all := make([]*conn, 1000)
		for k := range all {
			all[k] = trackNew(t, g)
			time.Sleep(200 * time.Millisecond)
		}
		slices.Reverse(all) // idlest last
		if n := g.EvictIdlest(10); n != 10 {
			t.Errorf("%d chosen", n)
		}
		synctest.Wait()
		all[len(all)-5].TouchWrite() // `on` is running for the first
		close(release)
		synctest.Wait()
		if len(evicted) != 9 {
			t.Errorf("%d evicted", len(evicted))
		}
		for _, c := range evicted {
			if k := slices.Index(all, c); k < 990 || k == 995 {
				t.Errorf("number %d from the youngest was evicted", k)
			}
		}
		if n := g.EvictIdlest(0) + g.EvictIdlest(-1); n != 0 {
			t.Errorf("%d chosen", n)
		}
		if n := g.EvictIdlest(5000); n != 991 || g.Stats().Queued+g.Len() == 0 {
			t.Errorf("%d chosen", n)
		}
		synctest.Wait()
		if g.Len() != 0 {
			t.Errorf("%d left", g.Len())
		}
	})
}

func TestAllReportsTheIdleTimeOfEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const resolution = 100 * time.Millisecond
		g := New(Config{AllIdle: Never, Resolution: resolution}, closing)
		start := map[*conn]time.Time{}
		for range 2000 {
			c := trackNew(t, g)
			start[c] = time.Now()
			time.Sleep(10 * time.Millisecond)
		}
		for c, idle := range g.All() {
			if off := time.Since(start[c]) - idle; off < -resolution || off > resolution {
				t.Fatalf("%v off", off)
			}
			delete(start, c)
			g.Untrack(&c.Entry) // the body may change the group
		}
		if len(start) != 0 || g.Len() != 0 {
			t.Errorf("%d were left out, %d are left", len(start), g.Len())
		}
	})
}

func TestDrainSpreadsTheClosesTheIdlestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []time.Duration // idle times
		start := time.Now()
		tracked := map[*conn]time.Time{}
		var perSecond [12]int
		var drained time.Time
		g := New(Config{AllIdle: Never, Resolution: 100 * time.Millisecond}, func(c *conn, r Reason) Verdict {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, tracked[c].Sub(start))
			perSecond[time.Since(drained)/time.Second]++
			return Close()
		})
		for range 1000 {
			c := newConn()
			tracked[c] = time.Now()
			track(t, g, c, &c.Entry)
			time.Sleep(100 * time.Millisecond)
		}
		drained = time.Now()
		fatal.If(t, g.Drain(context.Background(), 10*time.Second))
		synctest.Wait()
		if took := time.Since(drained); len(order) != 1000 || took < 9*time.Second || took > 11*time.Second {
			t.Errorf("%d drained in %v", len(order), took)
		}
		for k, n := range perSecond[:10] {
			if n < 80 || n > 120 {
				t.Errorf("%d in second %d", n, k)
			}
		}
		for k := range order[1:] {
			if order[k+1] < order[k]-time.Second {
				t.Fatalf("not the idlest first: %v after %v", order[k+1], order[k])
			}
		}
	})
}

func TestDrainCallsAgainForKeptConnectionsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		keep := true
		g := New(Config{AllIdle: Never, Resolution: 100 * time.Millisecond}, func(*conn, Reason) Verdict {
			if asked++; keep {
				return Keep()
			}
			return Close()
		})
		c := trackNew(t, g)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		err := g.Drain(ctx, 10*time.Second)
		synctest.Wait()
		if !errors.Is(err, context.DeadlineExceeded) || asked < 8 || asked > 12 {
			t.Errorf("asked %d times, %v", asked, err)
		}
		keep = false
		if err := g.Drain(context.Background(), 0); err != nil || !c.isClosed() {
			t.Errorf("closed: %v, %v", c.isClosed(), err)
		}
		if err := g.Drain(context.Background(), time.Hour); err != nil {
			t.Error(err)
		}
	})
}

func TestDrainHonoursTheTimeOfAVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		start := time.Now()
		g := New(Config{AllIdle: Never, Resolution: 100 * time.Millisecond}, func(*conn, Reason) Verdict {
			if asked = append(asked, time.Since(start)); len(asked) == 1 {
				return KeepFor(30 * time.Second)
			}
			return Close()
		})
		trackNew(t, g)
		fatal.If(t, g.Drain(context.Background(), time.Second))
		if len(asked) != 2 || asked[1]-asked[0] < 30*time.Second || asked[1]-asked[0] > 31*time.Second {
			t.Errorf("asked after %v", asked)
		}
	})
}

func TestDrainWaitsForOwnersToCloseOrForTheirGrace(t *testing.T) {
	for _, owner := range []time.Duration{grace / 4, time.Hour} { // closes after that
		synctest.Test(t, func(t *testing.T) {
			g := New(Config{AllIdle: Never, Resolution: 100 * time.Millisecond}, closingConns)
			c, there := piped(t, g)
			go func() {
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("read: %v", err)
				}
				time.Sleep(owner)
				_ = c.Close()
			}()
			synctest.Wait()
			start := time.Now()
			err := g.Drain(context.Background(), 0)
			if took, want := time.Since(start), min(owner, grace); err != nil || took < want || took > want+time.Second/5 {
				t.Errorf("drained after %v, want %v; %v", took, want, err)
			}
			if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("not closed: %v", err)
			}
			time.Sleep(2 * time.Hour) // the other of the two closes finds it closed
			synctest.Wait()
			if g.closing != 0 {
				t.Errorf("%d are being closed", g.closing)
			}
		})
	}
}

func TestCloseUntracksAllAndEndsADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{ReadIdle: time.Second}, func(*conn, Reason) Verdict { return Keep() })
		all := make([]*conn, 2000)
		for k := range all {
			all[k] = trackNew(t, g)
		}
		done := make(chan error)
		go func() { done <- g.Drain(context.Background(), time.Hour) }()
		time.Sleep(time.Minute)
		g.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, c := range all {
			if c.clock.Load() != nil || c.isClosed() {
				t.Fatal("not forgotten, or closed")
			}
		}
	})
}

func TestABusyConnectionIsNeitherIdleNorTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reasons []Reason
		g := New(Config{AllIdle: time.Second, MaxAge: 10 * time.Second, Jitter: -1}, func(_ *conn, r Reason) Verdict {
			reasons = append(reasons, r)
			return Close()
		})
		c := trackNew(t, g)
		g.busy(&c.Entry)
		time.Sleep(time.Minute)
		if n := g.EvictIdlest(1); n != 0 || len(reasons) != 0 {
			t.Errorf("%d evicted, %v", n, reasons)
		}
		c.TouchRead()
		g.unbusy(&c.Entry)
		synctest.Wait()
		if !c.isClosed() || !slices.Equal(reasons, []Reason{Age}) {
			t.Errorf("%v", reasons)
		}

		g = New(Config{AllIdle: time.Second}, closing)
		c = trackNew(t, g)
		g.busy(&c.Entry)
		time.AfterFunc(time.Minute, func() { g.unbusy(&c.Entry) })
		start := time.Now()
		if err := g.Drain(context.Background(), 11*time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("drained after %v, %v", time.Since(start), err)
		}
	})
}
