package wheel

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/quick"
)

// hourly is a schedule: every full hour.
func hourly(t time.Time) time.Time { return t.Truncate(time.Hour).Add(time.Hour) }

func hours(firings []firing) []float64 {
	var h []float64
	for _, f := range firings {
		h = append(h, f.at.Hours())
	}
	return h
}

// scheduled returns a Timers with a wall clock that can be stepped. The
// bubble's clock starts on a full hour.
func scheduled(cfg Config) (*Timers, *steppedClock) {
	tm, c := NewTimers(cfg), new(steppedClock)
	tm.use().settings.wallNow = c.now
	return tm, c
}

func TestAScheduleRunsAtItsInstants(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm, _ := scheduled(cfg)
		r := newRecorder()
		series := tm.ScheduleFunc(hourly, func() {
			if r.fire(0); len(r.values()) == 2 {
				time.Sleep(150 * time.Minute)
			}
		})
		time.Sleep(8*time.Hour - time.Minute)
		if !series.Stop() || series.Stop() {
			t.Error("Stop of a schedule")
		}
		time.Sleep(8 * time.Hour)
		if got := hours(r.firings()); !slices.Equal(got, []float64{1, 2, 5, 6, 7}) || tm.Len() != 0 {
			t.Errorf("runs at %v", got)
		}
	})
}

func TestTheZeroTimeEndsASchedule(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm, _ := scheduled(cfg)
		r := newRecorder()
		noon := time.Now().Add(3 * time.Hour)
		once := func(t time.Time) time.Time {
			if t.Before(noon) {
				return noon
			}
			return time.Time{}
		}
		series := tm.ScheduleFunc(once, func() { r.fire(0) })
		time.Sleep(24 * time.Hour)
		if got := hours(r.firings()); !slices.Equal(got, []float64{3}) || series.Stop() {
			t.Errorf("runs at %v", got)
		}
		if tm.ScheduleFunc(once, func() { t.Error("ran") }).Stop() || tm.Len() != 0 {
			t.Error("a schedule without an instant is pending")
		}
	})
}

func TestAScheduleMayBeResetAndGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, cfg Config) {
		tm, _ := scheduled(cfg)
		r := newRecorder()
		var series *Timer
		series = tm.ScheduleFunc(hourly, func() {
			switch r.fire(0); len(r.values()) {
			case 2:
				if !series.Reset(15 * time.Minute) {
					t.Error("Reset inside the run reports false")
				}
			case 5:
				series.Stop()
				series.Reset(90 * time.Minute)
				series.Stop()
			}
		})
		if !series.Reset(30 * time.Minute) {
			t.Error("Reset of a pending schedule reports false")
		}
		time.Sleep(5 * time.Hour)
		if got := hours(r.firings()); !slices.Equal(got, []float64{0.5, 1, 1.25, 2, 3}) || series.Stop() {
			t.Errorf("runs at %v", got)
		}
		if series.Reset(0) {
			t.Error("Reset of a stopped schedule reports true")
		}
		time.Sleep(90 * time.Minute)
		if got := hours(r.firings()); !slices.Equal(got[5:], []float64{5, 6}) || !series.Stop() {
			t.Errorf("runs at %v", got)
		}
	})
}

func TestAScheduleThatDoesNotAdvancePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []any
		tm := NewTimers(Config{Run: Inline, OnPanic: func(v any, _ []byte) { told = append(told, v) }})
		stuck := func(t time.Time) time.Time { return t }
		func() {
			defer func() {
				if recover() == nil {
					t.Error("ScheduleFunc does not panic")
				}
			}()
			tm.ScheduleFunc(stuck, func() {})
		}()
		asked, runs := 0, 0
		series := tm.ScheduleFunc(func(t time.Time) time.Time {
			if asked++; asked == 3 {
				return t.Add(-time.Hour)
			}
			return t.Add(time.Hour)
		}, func() { runs++ })
		time.Sleep(100 * time.Hour)
		synctest.Wait()
		if runs != 2 || asked != 3 || len(told) != 1 || series.Stop() || tm.Len() != 0 {
			t.Errorf("%d runs, asked %d times, told %v", runs, asked, told)
		}
		noError(t, series.StopWait(t.Context()))
	})
}

func TestAScheduleSurvivesPanicsAndDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told, offered atomic.Int32
		r := newRecorder()
		tm := NewTimers(Config{
			OnPanic: func(any, []byte) { told.Add(1) },
			Run: runnerOf(func(f func()) {
				if n := offered.Add(1); n == 2 || n == 5 {
					panic("refused")
				}
				f()
			}),
		})
		asked := 0
		tm.ScheduleFunc(func(t time.Time) time.Time {
			if asked++; asked == 6 { // when the fifth run is refused
				panic("no more")
			}
			return hourly(t)
		}, func() {
			if r.fire(0); len(r.values()) == 2 {
				panic("a run's own")
			}
		})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := hours(r.firings()); !slices.Equal(got, []float64{1, 3, 4}) || told.Load() != 4 {
			t.Errorf("runs at %v, %d panics reported", got, told.Load())
		}
		noError(t, tm.Shutdown(t.Context()))
		checkCounters(t, tm.use().Wheel)
	})
}

// runsHourly checks that a run began at each of the hours from first to last,
// at most wallCheck late, and that there was no other.
func runsHourly(t *testing.T, got []firing, first, last int) {
	t.Helper()
	if len(got) != last-first+1 {
		t.Fatalf("%d runs, want %d: %v", len(got), last-first+1, hours(got))
	}
	for k, f := range got {
		if late := f.at - time.Duration(first+k)*time.Hour; late < 0 || late > wallCheck+time.Second {
			t.Errorf("a run at %v, want hour %d", f.at, first+k)
		}
	}
}

func TestAScheduleThatWasMadeWhileTheClockWasAheadFollowsItsCorrection(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct{ made, ahead, corrected time.Duration }{
		{0, year, 10 * time.Second},
		{0, year, 0}, // while ScheduleFunc calls next
		{59*time.Minute + 50*time.Second, 15 * time.Second, time.Second}, // the instant comes before the driver looks at the clock
	} {
		inBubble(t, func(t *testing.T, cfg Config) {
			tm, clock := scheduled(cfg)
			defer tm.Close()
			r := newRecorder()
			tm.AfterFunc(1, func() {}) // ticks begin before the step
			time.Sleep(c.made)
			clock.step(c.ahead)
			asked := 0
			tm.ScheduleFunc(func(t time.Time) time.Time {
				if asked++; asked == 1 && c.corrected == 0 {
					clock.step(-c.ahead)
				}
				return hourly(t)
			}, func() { r.fire(0) })
			if c.corrected > 0 {
				time.Sleep(c.corrected)
				clock.step(-c.ahead)
			}
			time.Sleep(24*time.Hour + time.Minute - c.made)
			synctest.Wait()
			runsHourly(t, r.firings(), 1, 24)
		})
	}
}

func TestAGlitchOfTheClockNeitherFreezesAScheduleNorRepeatsAnInstant(t *testing.T) {
	days := 40
	if testing.Short() && !quick.All {
		days = 2
	}
	ahead := time.Duration(days) * 18 * time.Hour // the instants that come again are within the days
	inBubble(t, func(t *testing.T, cfg Config) {
		tm, clock := scheduled(cfg)
		defer tm.Close()
		r, minutes := newRecorder(), newRecorder()
		tm.ScheduleFunc(hourly, func() { r.fire(0) })
		tm.ScheduleFunc(func(t time.Time) time.Time { return t.Truncate(time.Minute).Add(time.Minute) }, func() { minutes.fire(0) })
		time.Sleep(90*time.Minute + 20*time.Second)
		clock.step(ahead)
		time.Sleep(time.Minute)
		clock.step(-ahead)
		time.Sleep(time.Duration(days)*24*time.Hour - 91*time.Minute)
		synctest.Wait()
		runsHourly(t, append(r.firings()[:1:1], firing{0, 2 * time.Hour}), 1, 2)
		if at := r.firings()[1].at; at > 92*time.Minute { // two o'clock passed when the clock was ahead
			t.Errorf("the second run at %v", at)
		}
		runsHourly(t, r.firings()[2:], 3, days*24)
		if n, want := len(minutes.firings()), days*24*60; n != want {
			t.Errorf("%d runs for %d minutes: one was repeated or left out", n, want)
		}
	})
}
