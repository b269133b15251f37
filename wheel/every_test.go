package wheel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// seconds returns the times of the firings in seconds.
func seconds(firings []firing) []float64 {
	var s []float64
	for _, f := range firings {
		s = append(s, f.at.Seconds())
	}
	return s
}

func TestEveryFollowsItsPolicy(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		opts EveryOptions
		runs []time.Duration // how long the first runs take; the others take no time
		want []float64       // when they begin, within 10 s
	}{
		"on the grid":              {EveryOptions{}, nil, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"skips what a run took":    {EveryOptions{}, []time.Duration{2500 * time.Millisecond}, []float64{1, 4, 5, 6, 7, 8, 9, 10}},
		"back to back":             {EveryOptions{}, []time.Duration{s, s, 2 * s}, []float64{1, 2, 3, 5, 6, 7, 8, 9, 10}},
		"catches up":               {EveryOptions{Missed: FireAll}, []time.Duration{3500 * time.Millisecond}, []float64{1, 4.5, 4.5, 4.5, 5, 6, 7, 8, 9, 10}},
		"catches up while it runs": {EveryOptions{Missed: FireAll}, []time.Duration{2500 * time.Millisecond, s / 2, s / 2}, []float64{1, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10}},
		"a delay between the runs": {EveryOptions{Missed: FixedDelay}, []time.Duration{s / 2, 2 * s, s / 4}, []float64{1, 2.5, 5.5, 6.75, 7.75, 8.75, 9.75}},
		"at once":                  {EveryOptions{Immediately: true}, nil, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"at once, on the grid":     {EveryOptions{Immediately: true}, []time.Duration{1500 * time.Millisecond}, []float64{0, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"at once, a delay between": {EveryOptions{Missed: FixedDelay, Immediately: true}, []time.Duration{5 * s}, []float64{0, 6, 7, 8, 9, 10}},
		"at once, catches up":      {EveryOptions{Immediately: true, Missed: FireAll}, []time.Duration{2 * s}, []float64{0, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, cfg Config) {
				tm := NewTimers(cfg)
				r := newRecorder()
				series := tm.Every(s, func() {
					r.fire(0)
					if n := len(r.values()); n <= len(c.runs) {
						time.Sleep(c.runs[n-1])
					}
				}, c.opts)
				time.Sleep(10*s + tickOf(cfg)/2)
				if !series.Stop() || series.Stop() {
					t.Error("Stop of a series")
				}
				time.Sleep(10 * s)
				if got := seconds(r.firings()); !slices.Equal(got, c.want) {
					t.Errorf("runs at %v, want %v", got, c.want)
				}
				if n := tm.Len(); n != 0 {
					t.Errorf("%d pending", n)
				}
			})
		})
	}
}

func TestEverySkipsRunsMissedInAStall(t *testing.T) {
	for _, c := range []struct {
		opt  Missed
		want []float64
	}{
		{SkipMissed, []float64{1, 6, 7, 8}}, // 2 to 6 were due at the same moment
		{FireAll, []float64{1, 6, 6, 6, 6, 6, 7, 8}},
		{FixedDelay, []float64{1, 6, 7, 8}},
	} {
		synctest.Test(t, func(t *testing.T) {
			tm := NewTimers(Config{Shards: 1, Run: Inline})
			r := newRecorder()
			tm.AfterFunc(1500*time.Millisecond, func() { time.Sleep(4500 * time.Millisecond) }) // the driver is blocked
			series := tm.Every(time.Second, func() { r.fire(0) }, EveryOptions{Missed: c.opt})
			time.Sleep(8500 * time.Millisecond)
			series.Stop()
			if got := seconds(r.firings()); !slices.Equal(got, c.want) {
				t.Errorf("%v: runs at %v, want %v", c.opt, got, c.want)
			}
		})
	}
}

func TestJitterSpreadsTheRunsAndKeepsTheGrid(t *testing.T) {
	for _, x := range []float64{0.1, 0.5, 1} {
		inBubble(t, func(t *testing.T, cfg Config) {
			tm := NewTimers(cfg)
			r := newRecorder()
			const period, n = time.Second, 1000
			series := tm.Every(period, func() { r.fire(0); time.Sleep(10 * time.Millisecond) }, EveryOptions{Jitter: x})
			// The run of the last period may come one tick after its end, or
			// when the run before it has returned.
			time.Sleep((n+1)*period + tickOf(cfg) + 10*time.Millisecond)
			series.Stop()
			time.Sleep(period)
			got := r.firings()
			if len(got) < n || len(got) > n+1 {
				t.Fatalf("%d runs in %d periods", len(got), n+1)
			}
			latest := time.Duration(0)
			for i, f := range got {
				late := f.at - time.Duration(i+1)*period
				// After a run with the largest delay, the next run cannot have
				// the smallest.
				if limit := time.Duration(x*float64(period)) + tickOf(cfg) + 10*time.Millisecond; late < 0 || late > limit {
					t.Errorf("run %d is %v late", i+1, late)
				}
				latest = max(latest, late)
			}
			if latest < time.Duration(x*float64(period)*9/10) {
				t.Errorf("none of %d runs is more than %v late", len(got), latest)
			}
		})
	}
}

func TestRunsOfASeriesNeverOverlap(t *testing.T) {
	for _, opt := range []Missed{SkipMissed, FireAll, FixedDelay} {
		tm := NewTimers(Config{})
		var running, n atomic.Int32
		series := tm.Every(time.Millisecond, func() {
			if running.Add(1) != 1 {
				t.Error("two runs at a time")
			}
			n.Add(1)
			runtime.Gosched()
			running.Add(-1)
		}, EveryOptions{Missed: opt, Immediately: true})
		var wg sync.WaitGroup
		for worker := range 16 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(3, uint64(worker)))
				for range raceOperations() / 10 / 16 {
					switch r.IntN(4) {
					case 0:
						series.Stop()
					case 1:
						if r.IntN(10) == 0 {
							_ = series.StopWait(t.Context())
						}
					default:
						series.Reset(time.Duration(1 + r.Int64N(int64(200*time.Microsecond))))
					}
				}
			})
		}
		wg.Wait()
		series.Reset(time.Microsecond)
		for before := n.Load(); n.Load() < before+3; {
			runtime.Gosched() // it goes on
		}
		if !series.Stop() {
			t.Error("Stop of a series reports false")
		}
		if err := series.StopWait(t.Context()); err != nil || running.Load() != 0 {
			t.Errorf("StopWait = %v, %d running", err, running.Load())
		}
		if n := tm.Len(); n != 0 {
			t.Errorf("%d pending", n)
		}
		checkCounters(t, tm.use().Wheel)
	}
}

func TestStopInsideTheRunEndsTheSeries(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm := NewTimers(cfg)
		r := newRecorder()
		var series *Timer
		series = tm.Every(time.Hour, func() {
			if r.fire(0); len(r.values()) == 3 && (!series.Stop() || series.Stop()) {
				t.Error("Stop inside the run")
			}
		}, EveryOptions{})
		series.Reset(time.Second)
		time.Sleep(time.Minute)
		if got := seconds(r.firings()); !slices.Equal(got, []float64{1, 2, 3}) || series.Stop() || tm.Len() != 0 {
			t.Errorf("runs at %v", got)
		}
		if series.Reset(time.Second) {
			t.Error("Reset of a series that was stopped reports true")
		}
		time.Sleep(1500 * time.Millisecond)
		if n := len(r.values()); n != 4 || !series.Stop() {
			t.Errorf("%d runs after Reset", n)
		}
		time.Sleep(time.Hour)
		if n := len(r.values()); n != 4 {
			t.Errorf("%d runs after Stop", n)
		}
	})
}

func TestResetInsideTheRunStartsANewGrid(t *testing.T) {
	for _, opt := range []Missed{SkipMissed, FireAll, FixedDelay} {
		inBubble(t, func(t *testing.T, cfg Config) {
			tm := NewTimers(cfg)
			r := newRecorder()
			var series *Timer
			series = tm.Every(time.Hour, func() {
				switch r.fire(0); len(r.values()) {
				case 2:
					if !series.Reset(time.Second / 2) { // then Stop and Reset while it runs
						t.Error("Reset inside the run reports false")
					}
					series.Stop()
					series.Reset(time.Second / 2)
				case 3:
					series.Reset(2 * time.Second)
				}
			}, EveryOptions{Missed: opt})
			series.Reset(time.Second)
			time.Sleep(9 * time.Second)
			series.Stop()
			if got := seconds(r.firings()); !slices.Equal(got, []float64{1, 2, 2.5, 4.5, 6.5, 8.5}) {
				t.Errorf("%v: runs at %v", opt, got)
			}
		})
	}
}

func TestResetDuringALongRunWaitsForItsEnd(t *testing.T) {
	for opt, want := range map[Missed][]float64{
		SkipMissed: {1, 6, 7}, // the new grid is 3, 4, 5, 6 …, and the run ends at 5.5
		FireAll:    {1, 5.5, 5.5, 5.5, 6, 7},
		FixedDelay: {1, 5.5, 6.5},
	} {
		inBubble(t, func(t *testing.T, cfg Config) {
			tm := NewTimers(cfg)
			r := newRecorder()
			series := tm.Every(time.Second, func() {
				if r.fire(0); len(r.values()) == 1 {
					time.Sleep(4500 * time.Millisecond)
				}
			}, EveryOptions{Missed: opt})
			time.Sleep(2 * time.Second)
			series.Stop()
			if series.Reset(time.Second) {
				t.Error("Reset of a series that was stopped reports true")
			}
			if !series.Reset(time.Second) {
				t.Error("Reset of a running series reports false")
			}
			time.Sleep(5250 * time.Millisecond)
			series.Stop()
			if got := seconds(r.firings()); !slices.Equal(got, want) {
				t.Errorf("%v: runs at %v, want %v", opt, got, want)
			}
		})
	}
}

func TestASeriesSurvivesItsPanicsAndDrops(t *testing.T) {
	for _, opt := range []Missed{SkipMissed, FireAll, FixedDelay} {
		synctest.Test(t, func(t *testing.T) {
			var told, offered atomic.Int32
			r := newRecorder()
			tm := NewTimers(Config{
				OnPanic: func(any, []byte) { told.Add(1) },
				Run: runnerOf(func(f func()) {
					if offered.Add(1)%3 == 0 {
						panic("refused")
					}
					go f()
				}),
			})
			series := tm.Every(time.Second, func() {
				switch r.fire(0); len(r.values()) {
				case 2:
					panic("a run's own")
				case 4:
					runtime.Goexit()
				}
			}, EveryOptions{Missed: opt})
			time.Sleep(9500 * time.Millisecond)
			series.Stop()
			synctest.Wait()
			if got := seconds(r.firings()); !slices.Equal(got, []float64{1, 2, 4, 5, 7, 8}) || told.Load() != 4 {
				t.Errorf("runs at %v, %d panics reported", got, told.Load())
			}
			noError(t, tm.Shutdown(t.Context()))
			checkCounters(t, tm.use().Wheel)
		})
	}
}

func TestStopWaitEndsASeriesThatResetsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := NewTimers(Config{MaxPending: 1})
		var series atomic.Pointer[Timer]
		series.Store(timers.Every(time.Millisecond, func() {
			time.Sleep(time.Millisecond)
			series.Load().Reset(1)
		}, EveryOptions{}))
		time.Sleep(10*time.Millisecond + time.Microsecond)
		for range 100 {
			fatal.If(t, series.Load().StopWait(t.Context()))
			if n := timers.Len(); n != 0 {
				t.Fatalf("%d pending after StopWait", n)
			}
			series.Load().Reset(time.Millisecond)
			time.Sleep(3*time.Millisecond + 7*time.Microsecond)
		}
		noError(t, series.Load().StopWait(t.Context()))
	})
}
