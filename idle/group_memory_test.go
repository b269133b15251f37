package idle

import (
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
	g := New(cfg, func(C, Reason) Verdict { return Close() })
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
