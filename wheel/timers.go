package wheel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Timers is package time's timers on a wheel: the functions of that package, and of package context, as methods that
// mean the same. What they do not have is waiting for a callback (StopWait), stopping for good (Kill), periods that
// neither overlap nor drift (Every, ScheduleFunc), a limit, and a choice of where callbacks run. All methods may be called by
// any goroutine at any time, also from within a callback.
//
// The zero Timers works, as NewTimers(Config{}) does; it must not be copied after its first use. It has no goroutine while
// nothing is due, and needs no Close: it stays alive while a timer is pending, and is collected when it is empty and
// forgotten. It belongs to the testing/synctest bubble where it was used first.
//
// Functions run where Config.Run says. Times are sent and sleepers woken on the driver's own goroutine, and contexts cancelled
// on one each, whatever Run does: so no overload of Run can keep them from it, but while Run blocks, its shard fires nothing.
//
// Config.MaxPending limits the timers that stand. One that is over it, or comes after Close, is made stopped: it does not
// fire. Sleep returns ErrFull or ErrClosed then, and contexts are cancelled at once with that cause. Resetting a timer that
// has fired needs room again, and if there is none leaves it stopped. A periodic timer keeps its room until it ends.
type Timers struct {
	wheel atomic.Pointer[timerWheel] // set by NewTimers or the first use, and then never changed
}

// timerWheel is what a Timers and its timers share. Immutable.
type timerWheel struct {
	*Wheel[*Timer]
	rooms *limit // of armed timers, in place of the wheel's own, which knows nothing of periods; nil: none
}

// NewTimers returns Timers on a wheel of their own. It panics if cfg makes no sense.
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

// use returns the wheel, which the first use of a zero Timers makes.
func (t *Timers) use() *timerWheel {
	if w := t.wheel.Load(); w != nil {
		return w
	}
	t.wheel.CompareAndSwap(nil, newTimerWheel(Config{}))
	return t.wheel.Load()
}

// AfterFunc calls f, by way of Config.Run, after d; d ≤ 0 calls it at once, on another goroutine. The Timer can stop and
// reset the call; its C is nil. If there is no room, or the Timers is closed, the Timer is made stopped. AfterFunc panics if f
// is nil.
func (t *Timers) AfterFunc(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("wheel: AfterFunc without a function")
	}
	timer := &Timer{wheel: t.use(), act: callback(f)}
	_ = timer.start(d)
	return timer
}

// NewTimer returns a Timer that sends the current time on its channel C after d. As in package time, nobody receives a
// time of before the last Stop or Reset. What is different: C has a buffer of one, which len and cap show, and a Timer
// that is forgotten without Stop is kept until it fires. If there is no room, or the Timers is closed, it is made stopped.
func (t *Timers) NewTimer(d time.Duration) *Timer {
	c := make(chan time.Time, 1)
	timer := &Timer{C: c, wheel: t.use(), act: sender(c)}
	_ = timer.start(d)
	return timer
}

// After returns the channel of NewTimer(d): the time is sent there after d. It cannot be stopped, so for a timeout that
// mostly does not happen NewTimer, or Sleep, is better. If there is no room, or the Timers is closed, nothing is ever sent.
func (t *Timers) After(d time.Duration) <-chan time.Time { return t.NewTimer(d).C }

// Sleep waits for d, and then returns nil; at once if d ≤ 0. It returns ctx.Err() once ctx is done, ErrClosed once the
// Timers is closed, also if that happens meanwhile, and ErrFull if there is no room for another timer.
//
// Sleep may be called from within a callback, wherever that runs. Inline, the callback's shard fires nothing during the sleep.
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
	// The shard fires nothing while Run waits for a callback, and that callback may be the one that sleeps here. So a
	// timer of package time ends the sleep if the wheel has not done it in time.
	var spare <-chan time.Time
	if !w.detached {
		alarm := time.NewTimer(max(d, d+2*w.shards[0].tick)) // max: the sum may overflow
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

// Len returns the number of timers, tickers, sleepers and contexts that are pending. It visits all shards, one after the
// other, so while timers come and go meanwhile it is an estimate; but never more than MaxPending. A periodic function is
// not counted while it runs.
func (t *Timers) Len() int {
	w := t.use()
	n := w.Len()
	if w.rooms != nil {
		n = int(min(int64(n), w.rooms.max))
	}
	return n
}

// Stats returns the counters of the wheel below. There each run of a series and each tick counts as a timer of its own, and
// a timer that was stopped after it was handed over to Run, but before its function began, as fired.
func (t *Timers) Stats() Stats { return t.use().Stats() }

// Occupancy returns the number of timers in each slot, as [Wheel.Occupancy]
// does.
func (t *Timers) Occupancy() [][]int { return t.use().Occupancy() }

// Close stops all timers, and there will be no others: functions are not called, channels deliver nothing, periods end.
// Sleep returns ErrClosed, and contexts are cancelled with the cause ErrClosed. It waits for hand-overs to Run that are
// under way on other goroutines. Functions that Run has got by then still run, unless they are stopped before they begin;
// Shutdown waits for them. Close may be called twice, by anyone, and from within a callback, with the exception of
// [Wheel.Close].
func (t *Timers) Close() { _ = t.shut(context.Background()) }

// Shutdown is Close, and then waits until every function that Run has got has returned, or until ctx is done: then it
// returns the context's error, and may be called again. It must not be called from within a callback, for which it would
// wait.
func (t *Timers) Shutdown(ctx context.Context) error {
	if err := t.shut(ctx); err != nil {
		return err
	}
	return t.use().Shutdown(ctx)
}

// shut resolves all timers before it waits for anything: a context must not stay unwatched while Run blocks.
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

// errDropped says of a timer that Run has refused its callback.
var errDropped = errors.New("wheel: dropped by Run")
