package idle

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

type tiny struct{ Entry }

// TestAMillionConnectionsTakeAtMost96BytesEach counts everything: the entry,
// the slot and the timer.
func TestAMillionConnectionsTakeAtMost96BytesEach(t *testing.T) {
	most := 96.0
	if testing.Short() {
		most++ // with fewer connections, each has more of the group's own memory
	}
	for name, cfg := range map[string]Config{
		"idle":              {ReadIdle: time.Hour, AllIdle: 2 * time.Hour},
		"pings":             {PingEvery: time.Hour, MaxMissed: 3},
		"age and handshake": {ReadIdle: time.Hour, MaxAge: time.Hour, Handshake: time.Hour},
	} {
		got := bytesEach(t, cfg, func(c *tiny) *tiny { return c })
		if t.Logf("%s: %.1f bytes", name, got); got > most {
			t.Errorf("%s: a connection takes %.1f bytes", name, got)
		}
	}
	got := bytesEach(t, Config{ReadIdle: time.Hour}, func(c *tiny) any { return c })
	if t.Logf("as an interface: %.1f bytes", got); got > most {
		t.Errorf("as an interface a connection takes %.1f bytes", got)
	}
}

func bytesEach[C any](t *testing.T, cfg Config, as func(*tiny) C) float64 {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	before := heapInUse()
	g := New(cfg, func(C, Reason) Verdict { return Close })
	all := make([]*tiny, n)
	for i := range all {
		all[i] = new(tiny)
		track(t, g, as(all[i]), &all[i].Entry)
	}
	pointers := 8 * float64(n) // for the slice
	took := (float64(heapInUse()-before) - pointers) / float64(n)
	g.Close()
	runtime.KeepAlive(all)
	return took
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkTrackUntrack(b *testing.B) {
	for _, others := range []int{0, 1, 100_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			g := New(Config{ReadIdle: time.Minute}, func(*tiny, Reason) Verdict { return Close })
			all := make([]tiny, others+1)
			for i := range others {
				track(b, g, &all[i], &all[i].Entry)
			}
			c := &all[others]
			b.ReportAllocs()
			for b.Loop() {
				if g.Track(c, &c.Entry) != nil || !g.Untrack(&c.Entry) {
					b.Fatal("not tracked")
				}
			}
			g.Close()
		})
	}
}

// BenchmarkCheck measures one check in a sweep over a million connections in
// use. They come due in an order unrelated to their place in memory.
func BenchmarkCheck(b *testing.B) {
	const n, timeout = 1_000_000, time.Hour
	g := New(Config{ReadIdle: timeout, AllIdle: 2 * timeout}, func(*tiny, Reason) Verdict { return Close })
	all := make([]*tiny, n)
	for i := range all {
		all[i] = new(tiny)
	}
	rand.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all {
		track(b, g, c, &c.Entry)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	done := 0
	for done < b.N {
		b.StopTimer()
		steps := g.policy.read
		for _, c := range all { // due at some time in the coming hour, and in use then
			g.core.Reset(g.slots.slot(c.slot).timer, g.grid.now+1+rand.Uint64N(steps))
			c.read.Store(uint32(g.grid.now + steps))
		}
		b.StartTimer()
		for range steps {
			g.grid.now++
			for more := true; more; done += len(g.fired) {
				more = g.sweepLocked()
			}
		}
	}
	g.driver.Stop()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(done), "ns/look")
}
