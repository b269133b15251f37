package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// longest is the longest time for which a test runs a bubble's clock, which
// ends in the year 2262.
const longest = 200 * 365 * 24 * time.Hour

// phases are ages of a wheel, in ticks, at which the cursor is before, at and
// after a boundary.
var phases = []time.Duration{
	0, 1, 62, 63, 64, 65, 1<<12 - 1, 1 << 12, 1<<18 - 1,
	1<<27 - 1, 1<<36 - 1, 1 << 36, 1<<36 + 1, 1<<40 + 12345,
}

// boundaries returns delays around the spans of all levels, each also with a
// nanosecond and a fraction of a tick more or less.
func boundaries(tick, most time.Duration) (ds []time.Duration) {
	for level := range levels {
		for _, off := range []time.Duration{-1, 0, 1} {
			ticks := time.Duration(1)<<(slotBits*level) + off
			if ticks > most/tick-1 {
				continue
			}
			d := ticks * tick
			ds = append(ds, d, d+1, d+tick/3, d+tick-1, max(0, d-1))
		}
	}
	return ds
}

// checkPunctual adds a timer for each delay, and checks that each fires once,
// never early and less than a tick late, or at once if it is due at once.
func checkPunctual(t *testing.T, w *Wheel[int], r *recorder, ds []time.Duration, slack, tick time.Duration) {
	t.Helper()
	begun, before := time.Since(r.start), len(r.firings())
	for i, d := range ds {
		must(w.AddAt(When{After: d, Slack: slack}, i))
	}
	time.Sleep(slices.Max(ds) + slack + tick)
	synctest.Wait()
	got := r.firings()[before:]
	if len(got) != len(ds) {
		t.Errorf("at %v: %d of %d fired", begun, len(got), len(ds))
	}
	for _, f := range got {
		late := f.at - begun - ds[f.v]
		if late < 0 || late >= tick+slack || ds[f.v] == 0 && late > 0 {
			t.Errorf("at %v: timer of %v, slack %v fired %v late", begun, ds[f.v], slack, late)
		}
	}
}

// All combinations of tick, level and phase, with a young wheel and with one
// that is older than 2^36 ticks.
func TestNeverEarlyAndLessThanATickLateAtEveryTickLevelAndPhase(t *testing.T) {
	ticks := []time.Duration{minTick, 333_333, time.Millisecond, 7_777_777, 100 * time.Millisecond, time.Second, time.Hour}
	for _, tick := range ticks {
		for _, phase := range phases {
			if phase > longest/2/tick {
				continue
			}
			for _, within := range []time.Duration{0, 1, tick / 2, tick - 1} {
				synctest.Test(t, func(t *testing.T) {
					r := newRecorder()
					w := New(Config{Shards: 1, Tick: tick, Run: Inline}, r.fire)
					w.Remove(must(w.Add(tick, 0))) // the wheel's time begins
					time.Sleep(phase*tick + within)
					checkPunctual(t, w, r, boundaries(tick, longest/2), 0, tick)
					checkCounters(t, w)
				})
			}
		}
	}
}

func TestSlackDelaysByNoMoreThanItself(t *testing.T) {
	for _, tick := range []time.Duration{minTick, time.Millisecond, 7_777_777} {
		for _, ticks := range []time.Duration{1, 2, 3, 63, 64, 65, 4096, 1 << 20} {
			for _, phase := range phases[:9] {
				synctest.Test(t, func(t *testing.T) {
					r := newRecorder()
					w := New(Config{Shards: 1, Tick: tick, Run: Inline}, r.fire)
					w.Remove(must(w.Add(tick, 0)))
					time.Sleep(phase*tick + tick/2)
					ds := slices.DeleteFunc(boundaries(tick, longest/4), func(d time.Duration) bool { return d == 0 })
					checkPunctual(t, w, r, ds, ticks*tick+1, tick)
				})
			}
		}
	}
}

func TestAMovedTimerIsAsPunctualAsANewOne(t *testing.T) {
	const tick = time.Millisecond
	rnd := rand.New(rand.NewPCG(1, 1))
	ds := boundaries(tick, longest/8)
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			r := newRecorder()
			w := New(Config{Shards: 1, Run: Inline}, r.fire)
			from, to := ds[rnd.IntN(len(ds))]+tick, ds[rnd.IntN(len(ds))]
			id := must(w.Add(from, 1))
			passed := time.Duration(rnd.Int64N(int64(from)))
			time.Sleep(passed)
			if !w.Reset(id, to) {
				t.Fatalf("Reset %v into a timer of %v = false", passed, from)
			}
			time.Sleep(max(from, to) + tick)
			if got := r.firings(); len(got) != 1 || got[0].at < passed+to || got[0].at >= passed+to+tick {
				t.Errorf("from %v to %v after %v: fired %v", from, to, passed, got)
			}
		})
	}
}
