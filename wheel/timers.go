package wheel

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"
)

// Timers offers the functions of package time, and WithTimeout and WithDeadline
// of package context, as methods, with the timers on a wheel. Timers adds
// waiting for a callback (StopWait), periods that neither overlap nor drift
// (Every, ScheduleFunc), a limit, a choice of where callbacks run, and Drain,
// which returns the functions that are still pending when a program ends. All
// methods are safe for concurrent use, including from callbacks.
//
// The differences from package time and package context are:
//
//   - Deadlines are rounded up to a tick, 1 ms by default.
//   - A channel C has a buffer of one, which len and cap show.
//   - A Timer or Ticker that is not stopped is kept until it fires, or forever,
//     even if the program has no reference to it.
//   - WithDeadline follows the wall clock for a time without a monotonic
//     reading.
//   - After its parent was cancelled, a context of WithTimeout or WithDeadline
//     wakes its own waiters a moment later. See WithTimeout.
//
// The zero Timers works like NewTimers(Config{}). It must not be copied after
// its first use. It has no goroutine while nothing is due, and needs no Close:
// it stays alive while a timer is pending, and can be collected when it is
// empty and unreferenced. It belongs to the testing/synctest bubble in which it
// was used first.
//
// Config.Run decides where functions run. The driver's goroutine sends times
// and wakes sleepers, and each context is cancelled on its own goroutine, so a
// Runner that is overloaded does not delay them. But while a call of Config.Run
// blocks, its shard fires nothing.
//
// Config.MaxPending limits the number of timers. A timer that is added above
// the limit, or after Close, is refused: it is stopped from the start and does
// not fire. Its Err returns ErrFull or ErrClosed, and Stats.Refused counts it.
// Sleep returns the same errors, and a context is cancelled at once with that
// cause. Resetting a fired timer needs room again; if there is none, the timer
// stays stopped. A periodic timer keeps its room until it ends.
type Timers struct {
	wheel atomic.Pointer[timerWheel] // set by NewTimers or the first use; never changed after that
}

// timerWheel is the wheel that a Timers and its timers share, and is immutable.
type timerWheel struct {
	*Wheel[*Timer]

	// rooms counts armed timers; nil: no limit. The wheel's own limit would
	// free the room of a series at each run.
	rooms *limit
}

// NewTimers returns Timers with a wheel of their own, and panics if cfg is
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
	s.setBack = func(sh *shard[*Timer]) {
		sh.each(func(id ID, t *Timer) bool {
			if x, ok := t.act.(*schedule); ok {
				x.searchAgain(t, id)
			}
			return true
		})
	}
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

// AfterFunc calls f through Config.Run after d, or at once if d ≤ 0, but never
// on the caller's goroutine. The Timer can stop and reset the call, and its C
// is nil. If there is no room, or the Timers is closed, AfterFunc returns a
// stopped Timer, and its Err returns the reason. AfterFunc panics if f is nil.
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
// show, and a Timer that is not stopped is kept until it fires, even if the
// program has no reference to it. If there is no room, or the Timers is closed,
// NewTimer returns a stopped Timer, and its Err returns the reason.
func (t *Timers) NewTimer(d time.Duration) *Timer {
	c := make(chan time.Time, 1)
	timer := &Timer{C: c, wheel: t.use(), act: sender(c)}
	_ = timer.start(d)
	return timer
}

// After returns the channel of NewTimer(d). The timer cannot be stopped, so use
// NewTimer or Sleep for a timeout that usually does not expire.
//
// If there is no room, or the Timers is closed, nothing is ever sent, and a
// receiver blocks forever, which only Stats.Refused shows. A program that sets
// Config.MaxPending, or that closes the Timers while it runs, should use
// NewTimer and Timer.Err, or Sleep, instead.
func (t *Timers) After(d time.Duration) <-chan time.Time { return t.NewTimer(d).C }

// Sleep waits for d, then returns nil; if d ≤ 0, it returns at once. If ctx is
// done first, Sleep returns ctx.Err(). It returns ErrClosed if the Timers is
// closed, before or during the sleep, and ErrFull if there is no room for
// another timer.
//
// A callback may call Sleep, wherever it runs, but if it runs Inline, its shard
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
		alarm := time.NewTimer(plus(d, plus(w.settings.tick, w.settings.tick)))
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
// locks the shards one after the other, so the result is an estimate while
// timers are added and end. It never exceeds MaxPending, and a periodic
// function is not counted while it runs.
func (t *Timers) Len() int {
	w := t.use()
	n := w.Len()
	if w.rooms != nil {
		n = int(min(int64(n), w.rooms.max))
	}
	return n
}

// Stats returns the counters of the underlying wheel. In these counters, each
// run of a series and each tick of a Ticker is one timer. A timer that was
// stopped after it was handed over to Config.Run, but before its function
// began, counts as fired. Stats locks each shard for a few microseconds.
func (t *Timers) Stats() Stats { return t.use().Stats() }

// Drain stops the pending timers that have a function, and yields each with its
// function, so that a program can call or save it: the timers of AfterFunc,
// Every and ScheduleFunc, in no particular order. Each of them is drained, fired
// or stopped, exactly once. A series is not yielded while its function runs. If
// the loop ends early, the rest stay.
//
// Drain also works after Close, which then keeps new timers from coming. It does
// nothing until it is ranged over, locks a shard for 128 timers at a time, and
// holds no lock while it yields.
func (t *Timers) Drain() iter.Seq2[*Timer, func()] {
	return func(yield func(*Timer, func()) bool) {
		for id, timer := range t.use().All() {
			var f func()
			switch x := timer.act.(type) {
			case callback:
				f = x
			case *every:
				f = x.f
			case *schedule:
				f = x.f
			}
			if f != nil && timer.haltPending(id) && !yield(timer, f) {
				return
			}
		}
	}
}

// Close stops the Timers, and no new timers can be set: no function is called,
// no time is sent, and every series ends. Sleep returns ErrClosed, and contexts
// are cancelled with the cause ErrClosed. The other pending timers stay for
// Drain, Stop and Len. Close waits for calls of Config.Run that are in progress
// on other goroutines. Functions that Config.Run accepted before still run,
// unless they are stopped before they begin; Shutdown waits for them.
//
// Close may be called several times, and from callbacks. But if Config.Run is a
// Runner of your own that blocks until callbacks return, a callback must not
// call Close, because it would wait for itself. See [Wheel.Close].
func (t *Timers) Close() { _ = t.shut(context.Background()) }

// Shutdown is Close, and then waits until every function that Config.Run has
// accepted has returned. If ctx is done first, it returns ctx.Err() and can be
// called again. A callback must not call Shutdown, because it would wait for
// itself.
func (t *Timers) Shutdown(ctx context.Context) error {
	if err := t.shut(ctx); err != nil {
		return err
	}
	return t.use().Shutdown(ctx)
}

// shut ends sleeps and contexts before it waits for anything: no context may be
// without a deadline while Run blocks.
func (t *Timers) shut(ctx context.Context) error {
	w := t.use()
	for _, sh := range w.shards {
		sh.close()
	}
	for id, timer := range w.All() {
		switch timer.act.(type) {
		case sleeper, *source:
			if _, ok := w.Remove(id); ok {
				timer.act.lost(timer, id, ErrClosed)
			}
		}
	}
	return w.shut(ctx)
}

// errDropped is the cause if Run has refused the callback of a timer.
var errDropped = errors.New("wheel: dropped by Run")
