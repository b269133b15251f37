package wheel

import (
	"errors"
	"time"
)

// Schedule says when a series runs: a calendar, say.
type Schedule interface {
	// Next returns the first instant of the schedule that is after t, a local time, or the zero time if there is none.
	Next(t time.Time) time.Time
}

// Schedule calls f, by way of Config.Run, at the instants of s, by the wall clock: also if that is stepped meanwhile or the
// machine suspended, which is noticed within 30 s. It asks s.Next for the first instant when it is called, and for each
// further one when a run has ended: so runs do not overlap, and instants that were missed are left out. It asks for what
// is after the present and after the last instant there was: so none comes twice, even if the clock is set back.
//
// The zero time ends the series. A Next that returns a time which is not after its argument has a bug, on which Schedule
// panics, and later the callback does. A run that panics (if Config.OnPanic is set), or that Run refuses, does not end
// the series; a Next that panics does. Stop and Reset may be called within f. Schedule panics if s or f is nil.
func (t *Timers) Schedule(s Schedule, f func()) *Timer {
	switch {
	case s == nil:
		panic("wheel: Schedule without a schedule")
	case f == nil:
		panic("wheel: Schedule without a function")
	}
	made := new(struct { // one piece of memory for both
		timer   Timer
		planned planned
	})
	timer, p := &made.timer, &made.planned
	timer.wheel, timer.act = t.use(), p
	p.schedule, p.f = s, f
	first := p.next(timer.wheel, time.Time{})
	timer.mu.Lock()
	defer timer.mu.Unlock()
	p.armLocked(timer, first)
	return timer
}

// planned is the action of a timer of Schedule.
type planned struct {
	schedule Schedule // immutable, as the next
	f        func()

	// guarded by the Timer's lock
	at      time.Time // the instant of the schedule that the Timer is armed for; zero: Reset has armed it
	last    time.Time // the last instant that came
	resumes time.Time // for when the end of the run is to arm the Timer, if Reset was called during it; or zero
}

func (p *planned) direct() bool            { return false }
func (p *planned) mustAllow(time.Duration) {}

func (p *planned) fire(t *Timer, id ID) {
	if p.begin(t, id) {
		defer p.end(t)
		p.f()
	}
}

func (p *planned) lost(t *Timer, id ID, cause error) {
	switch {
	case errors.Is(cause, ErrClosed):
		t.take(id)
	case p.begin(t, id): // a run of no length, in the middle of the wheel's own business: Next must not panic through that
		if t.wheel.onPanic != nil {
			defer t.wheel.shards[0].recoverPanic()
		}
		p.end(t)
	}
}

func (p *planned) begin(t *Timer, id ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.beginRunLocked(id) {
		return false
	}
	if !p.at.IsZero() {
		p.last = p.at
	}
	return true
}

// end asks for the next instant, without the lock, and then arms the Timer for it, unless it was stopped.
func (p *planned) end(t *Timer) {
	var next time.Time // zero, and so the end of the series, if Next panics
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endLocked()
		p.goOnLocked(t, next)
	}()
	t.mu.Lock()
	last, ask := p.last, t.armed && p.resumes.IsZero()
	t.mu.Unlock()
	if ask {
		next = p.next(t.wheel, last)
	}
}

func (p *planned) goOnLocked(t *Timer, next time.Time) {
	resumes := p.resumes
	p.resumes = time.Time{}
	switch {
	case !t.armed:
	case !resumes.IsZero():
		_ = t.armLocked(time.Until(resumes)) // fails only after Close
	default:
		p.armLocked(t, next)
	}
}

// armLocked arms the Timer for an instant of the schedule, or ends it if there is none.
func (p *planned) armLocked(t *Timer, at time.Time) {
	if at.IsZero() {
		t.disarmLocked()
		return
	}
	p.at = at
	_ = t.armAtLocked(at)
}

// next asks for the instant that is after the present and after last.
func (p *planned) next(w *timerWheel, last time.Time) time.Time {
	after := w.wallNow().Round(0)
	if after.Before(last) {
		after = last
	}
	next := p.schedule.Next(after).Round(0)
	if !next.IsZero() && !next.After(after) {
		panic("wheel: Schedule.Next returned a time that is not after its argument")
	}
	return next
}

// resetLocked puts a run in between, after which the schedule goes on. While the function runs, its end arms the Timer.
func (p *planned) resetLocked(t *Timer, d time.Duration) (was bool) {
	was = t.armed
	p.at = time.Time{}
	if t.runs == 0 {
		_ = t.armLocked(d)
	} else if t.admitLocked() == nil {
		p.resumes = time.Now().Add(d)
	}
	return was
}
