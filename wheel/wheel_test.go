package wheel

import (
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// firing is one call of the callback, by the clock of the bubble.
type firing struct {
	v  int
	at time.Duration // since the recorder was made
}

// recorder is a callback that records the time of each call.
type recorder struct {
	start time.Time

	mu   sync.Mutex // guards all
	seen []firing
}

func newRecorder() *recorder { return &recorder{start: time.Now()} }

func (r *recorder) fire(v int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, firing{v, time.Since(r.start)})
}

func (r *recorder) values() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var vs []int
	for _, f := range r.seen {
		vs = append(vs, f.v)
	}
	return vs
}

func (r *recorder) firings() []firing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// inBubble runs a test with fake time on one shard and with several.
func inBubble(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, cfg := range []Config{{Shards: 1, Run: Inline}, {Shards: 4}, {Shards: 2, Tick: 10 * time.Millisecond, Run: Inline}} {
		synctest.Test(t, func(t *testing.T) { f(t, cfg) })
	}
}

func tickOf(cfg Config) time.Duration {
	if cfg.Tick == 0 {
		return defaultTick
	}
	return cfg.Tick
}

// runnerOf returns a Runner that calls run with every function, and accepts it.
func runnerOf(run func(f func())) Runner {
	return RunnerFunc(func(f func()) bool {
		run(f)
		return true
	})
}

// noError fails the test, and lets it go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// checkCounters checks that the counters account for every timer that was ever
// added.
func checkCounters[T any](t testing.TB, w *Wheel[T]) Stats {
	t.Helper()
	s := w.Stats()
	if s.Added != s.Fired+s.Removed+s.Drained+s.Dropped+uint64(s.Pending) || s.Pending != w.Len() {
		t.Errorf("the counters do not add up: %d added, %d fired, %d removed, %d drained, %d dropped, %d pending, Len %d",
			s.Added, s.Fired, s.Removed, s.Drained, s.Dropped, s.Pending, w.Len())
	}
	return s
}

func TestFarDeadlinesSaturate(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		time.Sleep(time.Hour)
		ids := []ID{
			must(w.Add(math.MaxInt64, 1)), must(w.AddAt(When{After: math.MaxInt64, Slack: math.MaxInt64}, 2)),
			must(w.AddAt(When{At: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}, 3)), must(w.AddAt(When{At: time.Unix(math.MaxInt64, 0)}, 4)),
		}
		must(w.AddAt(When{}, 5))
		must(w.AddAt(When{At: time.Unix(-5, 0)}, 6))
		synctest.Wait()
		if got := r.values(); len(got) != 2 {
			t.Errorf("fired %v, want 5 and 6", got)
		}
		time.Sleep(100 * time.Hour)
		for i, id := range ids {
			v, left, ok := w.Get(id)
			if !ok || v != i+1 || left < 100*365*24*time.Hour {
				t.Errorf("Get(%d) = %d, %v, %v", i+1, v, left, ok)
			}
			if !w.Extend(id, math.MaxInt64) {
				t.Errorf("Extend(%d) = false", i+1)
			}
			if _, ok := w.Remove(id); !ok {
				t.Errorf("Remove(%d) = false", i+1)
			}
		}
		if d, ok := untilNext(w); ok {
			t.Errorf("Next of an empty wheel = %v, %v", d, ok)
		}
		checkCounters(t, w)
	})
}

func TestTimersWithSlackFireTogether(t *testing.T) {
	for name, when := range map[string]func(d time.Duration) When{
		"a delay":    func(d time.Duration) When { return When{After: d, Slack: 10 * time.Second} },
		"an instant": func(d time.Duration) When { return When{At: time.Now().Add(d), Slack: 10 * time.Second} },
	} {
		inBubble(t, func(t *testing.T, cfg Config) {
			r := newRecorder()
			w := New(cfg, r.fire)
			for i := range 1000 {
				must(w.AddAt(when(time.Hour+time.Duration(i)*time.Millisecond), i))
			}
			time.Sleep(2 * time.Hour)
			instants := map[time.Duration]bool{}
			for _, f := range r.firings() {
				instants[f.at] = true
				if late := f.at - time.Hour - time.Duration(f.v)*time.Millisecond; late < 0 || late > 10*time.Second+tickOf(cfg) {
					t.Errorf("%s: timer %d is %v late", name, f.v, late)
				}
			}
			if n := len(r.firings()); n != 1000 || len(instants) > 2 {
				t.Errorf("%s: %d fired, at %d instants", name, n, len(instants))
			}
		})
	}
}

func TestExtendAcrossAnEpochIsPunctual(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		r := newRecorder()
		w := New(cfg, r.fire)
		tick := tickOf(cfg)
		span := (1 << placedBits) * tick
		id := must(w.Add(16*span-tick, 1)) // the last tick of an epoch, in a slot that is wider
		if !w.Extend(id, 17*span) {
			t.Fatal("Extend = false")
		}
		time.Sleep(18 * span)
		if got := r.firings(); len(got) != 1 || got[0].at != 17*span {
			t.Errorf("fired %v, want at %v", got, 17*span)
		}
	})
}

func TestDrainYieldsTheUnfiredAlsoAfterClose(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		w := New(cfg, func(v int) { t.Errorf("%d fired", v) })
		added, drained := make(map[ID]int), make(map[ID]int)
		for i := range 3000 {
			added[must(w.Add(time.Duration(1+i)*time.Second, i))] = i
		}
		w.Drain() // not ranged over, so it does nothing
		for id, v := range w.Drain() {
			if drained[id] = v; len(drained) == 100 {
				break
			}
		}
		left := maps.Collect(w.All())
		w.Close()
		last := maps.Collect(w.Drain())
		if len(last) != 2900 || !maps.Equal(last, left) {
			t.Errorf("%d drained after Close, and All has yielded %d", len(last), len(left))
		}
		maps.Copy(drained, last)
		if s := checkCounters(t, w); s.Drained != 3000 || s.Pending != 0 || !maps.Equal(drained, added) {
			t.Errorf("%d drained, %d of them different, %d pending", s.Drained, len(drained), s.Pending)
		}
	})
}

func TestABatchHasIDValueAndDue(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		type key struct {
			id  ID
			v   int
			due time.Time
		}
		var mu sync.Mutex
		got := make(map[key]bool)
		cfg.MaxPending = 4000
		w := NewBatch(cfg, func(es []Expired[int]) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range es {
				if e.Late != time.Since(e.Due) {
					t.Errorf("Late = %v, due %v ago", e.Late, time.Since(e.Due))
				}
				got[key{e.ID, e.Value, e.Due.Round(0)}] = true
			}
		})
		want := make(map[key]bool)
		start := time.Now().Round(0)
		for i := range 2000 {
			d := time.Duration(i%7) * time.Second
			want[key{must(w.Add(d, i)), i, start.Add(d)}] = true
			at := start.Add(d)
			want[key{must(w.AddAt(When{At: at}, -i)), -i, at}] = true
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for k := range want {
			if !got[k] {
				t.Fatalf("%v missing", k)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d fired, want %d", len(got), len(want))
		}
		if checkCounters(t, w); w.settings.limit.n.Load() != 0 {
			t.Error("those that have fired still take room")
		}
	})
}

// addTo adds a timer to one of the shards.
func addTo[T any](sh *shard[T], d time.Duration, v T) {
	now := sh.now()
	sh.mu.Lock()
	_, _ = sh.addUnlock(now, sh.after(now, d), v)
}

// must returns v. It is for calls that have room, on a wheel that is open.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// untilNext returns the time until the wheel has something to do: at most the
// time until the earliest deadline. It returns false if no timer is pending.
func untilNext[T any](w *Wheel[T]) (left time.Duration, ok bool) {
	left = maxDuration
	for _, sh := range w.shards {
		sh.mu.Lock()
		if tick, pending := sh.ticks.next(); pending {
			left, ok = min(left, max(0, sh.instant(tick)-time.Since(sh.base))), true
		}
		if sh.wall != nil {
			if tick, pending := sh.wall.next(); pending {
				left, ok = min(left, max(0, sh.wallInstant(tick).Sub(sh.wallNow()))), true
			}
		}
		sh.mu.Unlock()
	}
	return left, ok
}
