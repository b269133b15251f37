package wheel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Timers has the timers of package time on a wheel: the functions of that
// package, and of package context, as methods with the same meaning. It adds
// waiting for a callback (StopWait), stopping for good (Kill), periods that
// neither overlap nor drift (Every, ScheduleFunc), a limit, and a choice of
// where callbacks run. Any goroutine may call any method at any time, also in a
// callback.
//
// The zero Timers works like NewTimers(Config{}). It must not be copied after
// its first use. It has no goroutine while nothing is due, and needs no Close:
// it stays alive while a timer is pending, and can be collected when it is
// empty and unreferenced. It belongs to the testing/synctest bubble in which it
// was used first.
//
// Config.Run decides where functions run. Times are always sent, and sleepers
// woken, on the driver's goroutine, and each context is cancelled on a
// goroutine of its own. So an overloaded Run does not delay them. But while Run
// blocks, its shard fires nothing.
//
// Config.MaxPending limits the number of timers. A timer that is added above
// the limit, or after Close, is stopped from the start: it does not fire. Sleep
// then returns ErrFull or ErrClosed, and a context is cancelled at once with
// that cause. To reset a timer that has fired needs room again; without room it
// stays stopped. A periodic timer keeps its room until it ends.
type Timers struct {
	wheel atomic.Pointer[timerWheel] // set by NewTimers or the first use; never changed after that
}

// timerWheel is the wheel that a Timers and its timers share. It is immutable.
type timerWheel struct {
	*Wheel[*Timer]

	// rooms counts armed timers; nil: no limit. The wheel's own limit would
	// free the room of a series at each run.
	rooms *limit
}

// NewTimers returns Timers with a wheel of their own. It panics if cfg is
// invalid.
func NewTimers(cfg Config) *Timers {
	t := new(Timers)
	t.wheel.Store(newTimerWheel(cfg))
	return t
}

func newTimerWheel(cfg Config) *timerWheel {
	s, shards := newSettings[*Timer](cfg)
	w := &timerWheel{rooms: s.limit}
	s.limit = nil
	s.fire = func(id ID, t *Timer) { t.act.fire(t, id) }
	s.direct = func(t *Timer) bool { return t.act.direct() }
	s.dropped = func(id ID, t *Timer) { t.act.lost(t, id, errDropped) }
	w.Wheel = newWheel(s, shards)
	return w
}

// use returns the wheel. The first use of a zero Timers makes it.
func (t *Timers) use() *timerWheel {
	if w := t.wheel.Load(); w != nil {
		return w
	}
	t.wheel.CompareAndSwap(nil, newTimerWheel(Config{}))
	return t.wheel.Load()
}

// AfterFunc calls f, by way of Config.Run, after d. If d ≤ 0, it calls f at
// once, on another goroutine. The Timer can stop and reset the call; its C is
// nil. If there is no room, or the Timers is closed, AfterFunc returns a
// stopped Timer. It panics if f is nil.
func (t *Timers) AfterFunc(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("wheel: AfterFunc without a function")
	}
	timer := &Timer{wheel: t.use(), act: callback(f)}
	_ = timer.start(d)
	return timer
}

// NewTimer returns a Timer that sends the current time on its channel C after
// d. As in package time, no time from before the last Stop or Reset is ever
// received. There are two differences: C has a buffer of one, which len and cap
// show; and a Timer that is not stopped is kept until it fires, even if the
// program has no reference to it. If there is no room, or the Timers is closed,
// NewTimer returns a stopped Timer.
func (t *Timers) NewTimer(d time.Duration) *Timer {
	c := make(chan time.Time, 1)
	timer := &Timer{C: c, wheel: t.use(), act: sender(c)}
	_ = timer.start(d)
	return timer
}

// After returns the channel of NewTimer(d): the time is sent on it after d. It
// cannot be stopped, so NewTimer or Sleep is better for a timeout that rarely
// happens. If there is no room, or the Timers is closed, nothing is ever sent.
func (t *Timers) After(d time.Duration) <-chan time.Time { return t.NewTimer(d).C }

// Sleep waits for d and returns nil; at once if d ≤ 0. It returns ctx.Err()
// when ctx is done, ErrClosed when the Timers is closed, before or during the
// sleep, and ErrFull if there is no room for another timer.
//
// A callback may call Sleep, wherever it runs. If it runs Inline, its shard
// fires nothing during the sleep.
func (t *Timers) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := t.use()
	if d <= 0 && !w.shards[0].closed.Load() {
		return nil
	}
	over := make(sleeper, 1)
	timer := &Timer{wheel: w, act: over}
	if err := timer.start(d); err != nil {
		return err
	}
	// The shard fires nothing while Run waits for a callback, and that callback
	// may be the one that sleeps here. So a timer of package time ends the
	// sleep if the wheel has not done so in time.
	var spare <-chan time.Time
	if !w.settings.detached {
		alarm := time.NewTimer(max(d, d+2*w.settings.tick)) // max: the sum may overflow
		defer alarm.Stop()
		spare = alarm.C
	}
	select {
	case err := <-over:
		return err
	case <-spare:
		timer.halt()
		return nil
	case <-ctx.Done():
		timer.halt()
		return ctx.Err()
	}
}

// Len returns the number of pending timers, tickers, sleepers and contexts. It
// reads the shards one after the other, so it is an estimate while timers are
// added and end. It never exceeds MaxPending. A periodic function is not
// counted while it runs.
func (t *Timers) Len() int {
	w := t.use()
	n := w.Len()
	if w.rooms != nil {
		n = int(min(int64(n), w.rooms.max))
	}
	return n
}

// Stats returns the counters of the underlying wheel. There, each run of a
// series and each tick of a Ticker counts as one timer. A timer that was
// stopped after it was handed over to Run, but before its function began,
// counts as fired.
func (t *Timers) Stats() Stats { return t.use().Stats() }

// Occupancy returns the number of timers in each slot, as [Wheel.Occupancy]
// does.
func (t *Timers) Occupancy() [][]int { return t.use().Occupancy() }

// Close stops all timers, and no new ones can be set. Functions are not called,
// channels deliver nothing, periods end. Sleep returns ErrClosed, and contexts
// are cancelled with the cause ErrClosed. Close waits for calls of Run that are
// under way on other goroutines. Functions that Run has accepted before still
// run, unless they are stopped before they begin; Shutdown waits for them.
// Close may be called more than once, by any goroutine, also in a callback,
// with the exception named at [Wheel.Close].
func (t *Timers) Close() { _ = t.shut(context.Background()) }

// Shutdown is Close, and then waits until every function that Run has accepted
// has returned. If ctx is done first, it returns the context's error, and may
// be called again. A callback must not call it: it would wait for itself.
func (t *Timers) Shutdown(ctx context.Context) error {
	if err := t.shut(ctx); err != nil {
		return err
	}
	return t.use().Shutdown(ctx)
}

// shut ends all timers before it waits for anything: no context may be without
// a deadline while Run blocks.
func (t *Timers) shut(ctx context.Context) error {
	w := t.use()
	for _, sh := range w.shards {
		sh.close()
	}
	for id, timer := range w.Drain() {
		timer.act.lost(timer, id, ErrClosed)
	}
	return w.shut(ctx)
}

// errDropped is the cause if Run has refused the callback of a timer.
var errDropped = errors.New("wheel: dropped by Run")
