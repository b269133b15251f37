package wheel

import (
	"slices"
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
// of the run calls next for the following instant after the current time, so
// runs do not overlap, and missed instants are skipped. After the clock was set
// back, next is called again, through Config.Run, and an instant that comes
// again runs unless it has run already: no instant runs twice. The series
// remembers the instants between the last 16 steps of the clock.
//
// next must return a time after its argument. Otherwise it is a panic: of
// ScheduleFunc for the first instant, and later on the goroutine of the run. A
// run that panics (if Config.OnPanic is set), or that Config.Run refuses, does
// not end the series, but a panic of next does. f may call Stop and Reset. If
// there is no room for the series, or the Timers is closed, ScheduleFunc
// returns a stopped Timer, and its Err returns the reason. ScheduleFunc panics
// if next or f is nil.
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
	first := s.next(timer.wheel, true)
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
	resumes time.Time // set by a Reset during a run: the end of the run arms the Timer for it

	// Of the goroutine of a run, or of ScheduleFunc before the first.
	searched time.Duration // instants up to then are over: they ran, or were missed; since base
	ahead    time.Duration // of the wall clock, at the last call of next
	stepped  bool          // that clock was stepped since the last run
	ran      []span        // the last one is under way
}

// span is a series of instants that ran, or were missed, between two steps of
// the clock.
type span struct{ from, to time.Time }

const maxSpans = 16

func (s *schedule) direct() bool            { return false }
func (s *schedule) mustAllow(time.Duration) {}

func (s *schedule) fire(t *Timer, id ID) {
	if isDue, ok := s.begin(t, id); ok {
		defer s.end(t, isDue)
		if isDue {
			s.f()
		}
	}
}

func (s *schedule) lost(t *Timer, id ID, _ error) {
	if isDue, ok := s.begin(t, id); ok { // a refused run counts as a run of zero duration
		if t.wheel.settings.onPanic != nil {
			defer t.wheel.shards[0].recoverPanic() // a panic of next must not leave the driver
		}
		s.end(t, isDue)
	}
}

// begin begins a run. If the clock was set back to before the instant, it is
// not due: then the run is only a search for the next one.
func (s *schedule) begin(t *Timer, id ID) (isDue, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.beginRunLocked(id) {
		return false, false
	}
	switch {
	case s.at.IsZero():
		return true, true
	case t.wheel.settings.wallNow().Before(s.at):
		return false, true
	}
	s.noteRun()
	return true, true
}

func (s *schedule) noteRun() {
	if last := len(s.ran) - 1; last >= 0 && !s.stepped {
		s.ran[last].to = s.at
		return
	}
	s.stepped = false
	if len(s.ran) == maxSpans {
		s.ran = slices.Delete(s.ran, 0, 1)
	}
	s.ran = append(s.ran, span{s.at, s.at})
}

// searchAgain makes the Timer due if it waits for an instant, because the clock
// was set back, and an earlier instant may come.
func (s *schedule) searchAgain(t *Timer, id ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.id == id && !s.at.IsZero() {
		t.wheel.Reset(id, 0)
	}
}

// end asks for the next instant, without the lock, and arms the Timer for it,
// unless the Timer was stopped.
func (s *schedule) end(t *Timer, wasDue bool) {
	var next time.Time // stays zero if the user's function panics: then the series ends
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endLocked()
		s.goOnLocked(t, next)
	}()
	t.mu.Lock()
	ask := t.armed && s.resumes.IsZero()
	t.mu.Unlock()
	if ask {
		next = s.next(t.wheel, wasDue)
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
// it fails, the Timer is stopped.
func (s *schedule) armLocked(t *Timer, at time.Time) error {
	if at.IsZero() {
		t.disarmLocked()
		return nil
	}
	s.at = at
	err := t.armAtLocked(at)
	if _, ahead := t.wheel.settings.clocks(); err == nil && ahead < s.ahead-smallStep { // since next was called
		t.wheel.Reset(t.id, 0)
	}
	return err
}

// next returns the first instant that did not run, after the current time. If
// skip is false, it is the first since the last search, by the clock as it is
// set now: the clock may have passed that instant before the driver noticed the
// step.
func (s *schedule) next(w *timerWheel, skip bool) time.Time {
	now, ahead := w.settings.clocks()
	if skip {
		s.searched = now
	}
	s.stepped = s.stepped || (ahead-s.ahead).Abs() > smallStep
	s.ahead = ahead
	for after := w.settings.base.Round(0).Add(s.searched).Add(ahead); ; {
		next := atMostLatest(s.following(after).Round(0))
		if next.IsZero() {
			return next
		}
		if !next.After(after) {
			panic("wheel: the schedule of ScheduleFunc returned a time that is not after its argument")
		}
		i := slices.IndexFunc(s.ran, func(r span) bool { return !next.Before(r.from) && !next.After(r.to) })
		if i < 0 {
			return next
		}
		after = s.ran[i].to
	}
}

// resetLocked inserts a run after d, and then the schedule goes on; if a run is
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
