package idle

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAtMostMaxPerTickCallsInOneResolution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, limit, resolution = 10_000, 100, 100 * time.Millisecond
		var mu sync.Mutex
		calls := map[time.Duration]int{} // calls by resolution
		start := time.Now()
		var bystander *conn
		var late time.Duration
		g := New(Config{ReadIdle: time.Second, Resolution: resolution, MaxPerTick: limit}, func(c *conn, _ Reason) Verdict {
			mu.Lock()
			defer mu.Unlock()
			calls[time.Since(start)/resolution]++
			if c == bystander {
				late = time.Since(start) - 1500*time.Millisecond
			}
			return Close()
		})
		for range n {
			trackNew(t, g)
		}
		time.Sleep(500 * time.Millisecond)
		bystander = newConn() // before the group can call for it
		track(t, g, bystander, &bystander.Entry)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		sum := 0
		for at, k := range calls {
			if sum += k; k > limit {
				t.Errorf("%d calls in the resolution of %v", k, at*resolution)
			}
		}
		if sum != n+1 || len(calls) > n/limit+2 {
			t.Errorf("%d calls in %d resolutions", sum, len(calls))
		}
		if late < 0 || late > 3*resolution {
			t.Errorf("one that came due after the herd was asked about %v late", late)
		}
	})
}

func TestManyDueConnectionsTakeTurnsWithLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, resolution = 100_000, 100 * time.Millisecond
		var mu sync.Mutex
		due := map[*conn]time.Time{} // of the later ones
		var worst time.Duration
		calls := 0
		g := New(Config{ReadIdle: time.Second, Resolution: resolution, Workers: 2}, func(c *conn, _ Reason) Verdict {
			time.Sleep(100 * time.Microsecond) // so all of them take 5 s
			mu.Lock()
			defer mu.Unlock()
			calls++
			if at, ok := due[c]; ok {
				worst = max(worst, time.Since(at))
			}
			return Close()
		})
		for range n {
			trackNew(t, g)
		}
		for range 40 {
			time.Sleep(resolution)
			c := newConn()
			mu.Lock()
			due[c] = time.Now().Add(time.Second)
			mu.Unlock()
			track(t, g, c, &c.Entry)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if calls != n+40 || worst > 2*resolution+10*time.Millisecond {
			t.Errorf("%d calls; one that came due after the herd was asked about %v late", calls, worst)
		}
	})
}

func TestJitterSpreadsPingsAndAges(t *testing.T) {
	const n, every = 6_000, 64 * time.Second
	for _, c := range []struct {
		cfg    Config
		reason Reason
	}{
		{Config{PingEvery: every, MaxMissed: 100, Jitter: 0.5}, Ping},
		{Config{MaxAge: every, Jitter: 0.5}, Age},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var calls [2][128]int // first and second calls, by second
			seen := map[*conn]time.Time{}
			c.cfg.Resolution = time.Second
			start := time.Now()
			g := New(c.cfg, func(conn *conn, _ Reason) Verdict {
				mu.Lock()
				defer mu.Unlock()
				first, again := seen[conn]
				switch {
				case !again:
					calls[0][time.Since(start)/time.Second]++
					seen[conn] = time.Now()
					conn.Pong()
				case c.reason == Ping && !first.IsZero():
					calls[1][time.Since(first)/time.Second]++
					seen[conn] = time.Time{}
				}
				return Keep()
			})
			for range n {
				trackNew(t, g)
			}
			time.Sleep(140 * time.Second)
			synctest.Wait()
			for round, calls := range calls {
				if round == 1 && c.reason == Age {
					break
				}
				total := 0
				for at, k := range calls {
					total += k
					if k > 0 && (at < 32 || at > 66) || k > 2*n/32 {
						t.Errorf("%v, round %d: %d in second %d", c.reason, round, k, at)
					}
				}
				if total != n {
					t.Errorf("%v, round %d: %d", c.reason, round, total)
				}
			}
			g.Close()
		})
	}
}
