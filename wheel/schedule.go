package wheel

import (
	"errors"
	"time"
)

// ScheduleFunc calls f through Config.Run at the instants that next returns,
// until the Timer is stopped. next(t) must return the first instant after t,
// where t is in the local time zone. If next returns the zero time, the series
// ends.
//
// The instants are times of the wall clock. If that clock is stepped, or the
// machine is suspended, the series follows within 30 s.
//
// ScheduleFunc calls next for the first instant. After each run, the goroutine
// of the run calls next for the following instant. The argument is the current
// time or the previous instant, whichever is later. So runs do not overlap,
// missed instants are skipped, and no instant runs twice, even if the clock is
// set back.
//
// next must return a time after its argument. Otherwise it is a panic: of
// ScheduleFunc for the first instant, and later on the goroutine of the run. A
// run that panics (if Config.OnPanic is set), or that Config.Run refuses, does
// not end the series. If next panics, the series ends. f may call Stop and
// Reset. If there is no room for the series, or the Timers is closed,
// ScheduleFunc returns a stopped Timer, and its Err returns the reason.
// ScheduleFunc panics if next or f is nil.
func (t *Timers) ScheduleFunc(next func(time.Time) time.Time, f func()) *Timer {
	switch {
	case next == nil:
		panic("wheel: ScheduleFunc without a schedule")
	case f == nil:
		panic("wheel: ScheduleFunc without a function")
	}
	made := new(struct { // one piece of memory for both
		timer    Timer
		schedule schedule
	})
	timer, s := &made.timer, &made.schedule
	timer.wheel, timer.act = t.use(), s
	s.following, s.f = next, f
	first := s.next(timer.wheel, time.Time{})
	timer.mu.Lock()
	defer timer.mu.Unlock()
	timer.madeLocked(s.armLocked(timer, first))
	return timer
}

// schedule is the action of a timer of ScheduleFunc.
type schedule struct {
	following func(time.Time) time.Time // the user's function; immutable, as is f
	f         func()

	// Guarded by the Timer's lock.
	at      time.Time // the instant that the Timer is armed for; zero: Reset has armed it
	last    time.Time // the instant of the last run
	resumes time.Time // set by a Reset during a run: the end of the run arms the Timer for it
}

func (s *schedule) direct() bool            { return false }
func (s *schedule) mustAllow(time.Duration) {}

func (s *schedule) fire(t *Timer, id ID) {
	if s.begin(t, id) {
		defer s.end(t)
		s.f()
	}
}

func (s *schedule) lost(t *Timer, id ID, cause error) {
	switch {
	case errors.Is(cause, ErrClosed):
		t.take(id)
	case s.begin(t, id): // a refused run counts as a run of zero duration
		if t.wheel.settings.onPanic != nil {
			defer t.wheel.shards[0].recoverPanic() // a panic of next must not leave the driver
		}
		s.end(t)
	}
}

func (s *schedule) begin(t *Timer, id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.beginRunLocked(id) {
		return false
	}
	if !s.at.IsZero() {
		s.last = s.at
	}
	return true
}

// end asks for the next instant, without the lock, and arms the Timer for it,
// unless the Timer was stopped.
func (s *schedule) end(t *Timer) {
	var next time.Time // stays zero if the user's function panics: then the series ends
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endLocked()
		s.goOnLocked(t, next)
	}()
	t.mu.Lock()
	last, ask := s.last, t.armed && s.resumes.IsZero()
	t.mu.Unlock()
	if ask {
		next = s.next(t.wheel, last)
	}
}

func (s *schedule) goOnLocked(t *Timer, next time.Time) {
	resumes := s.resumes
	s.resumes = time.Time{}
	switch {
	case !t.armed:
	case !resumes.IsZero():
		_ = t.armLocked(time.Until(resumes)) // fails only after Close
	default:
		_ = s.armLocked(t, next) // fails only after Close
	}
}

// armLocked arms the Timer for an instant, or ends the series if at is zero. If
// it returns an error, the Timer is stopped.
func (s *schedule) armLocked(t *Timer, at time.Time) error {
	if at.IsZero() {
		t.disarmLocked()
		return nil
	}
	s.at = at
	return t.armAtLocked(at)
}

// next returns the first instant after both the current time and last.
func (s *schedule) next(w *timerWheel, last time.Time) time.Time {
	after := w.settings.wallNow().Round(0)
	if after.Before(last) {
		after = last
	}
	next := s.following(after).Round(0)
	if !next.IsZero() && !next.After(after) {
		panic("wheel: the schedule of ScheduleFunc returned a time that is not after its argument")
	}
	return next
}

// resetLocked inserts a run after d; then the schedule goes on. If a run is
// under way, its end arms the Timer.
func (s *schedule) resetLocked(t *Timer, d time.Duration) (was bool) {
	was = t.armed
	s.at = time.Time{}
	if t.runs == 0 {
		_ = t.armLocked(d)
	} else if t.reserveLocked() == nil {
		s.resumes = time.Now().Add(d)
	}
	return was
}
