// Package wheel is a hierarchical timing wheel: timers for programs that have
// very many of them, move them often, and remove most of them before they fire.
//
// A [Wheel] carries a value of any type with each timer, and calls one function
// when timers fire:
//
//	w := wheel.New(wheel.Config{}, func(s *Session) { s.Expire() })
//	id, err := w.Add(30*time.Second, s)
//	w.Extend(id, 30*time.Second) // the session sent something: one compare-and-swap
//	w.Remove(id)                 // the session ended
//
// [NewBatch] makes a Wheel that hands over due timers in batches. There are
// five other types:
//
//   - [Timers] offers the functions of package time, and WithTimeout and
//     WithDeadline of package context, as methods. Its documentation lists the
//     differences. It adds periods that do not drift, a Stop that waits, and a
//     limit;
//   - [Keyed] has one timer for each key: set, move, remove;
//   - [DelayQueue] has elements that goroutines take when they are due;
//   - [Core] is the wheel without a lock and a clock, for event loops and
//     simulations;
//   - [Pool] runs callbacks on a limited number of goroutines.
//
// If you have few timers, or nearly all of them fire within milliseconds, use
// package time.
//
// # Promise
//
// A timer fires exactly once, at the deadline that was set last. It does not
// fire if Remove or Drain returned it, if the wheel was closed first, or if
// Config.Run refused its callback (Stats.Dropped). The results of Remove, Reset
// and Extend are exact. A timer is pending until it is handed over to
// Config.Run. From then on it has fired.
//
// A wheel never uses an ID twice, so a stale ID does nothing. IDs of different
// wheels cannot be distinguished.
//
// Delays are measured on the monotonic clock, so a step of the wall clock does
// not move a timer. A timer with [When].At follows the wall clock. There is
// no maximum delay.
//
// # Cost
//
// Add, Remove and Reset take O(1) time and one lock. Extend is usually one
// compare-and-swap without a lock; see [Wheel.Extend]. Memory is allocated in
// chunks for 2,048 timers, not for each timer. A timer costs 24 bytes and its
// value, and if values hold no pointers, the garbage collector has nothing to
// scan. A timer of Timers is also an object, and a key of Keyed also takes a
// slot in a table.
//
// No type of this package has a goroutine while nothing is due: drivers sleep
// until the next slot that is not empty. So no type needs to be closed.
// docs/benchmarks.md in the repository compares the figures with package time
// and other implementations.
//
// # Accuracy
//
// A timer is never early. It is late by less than one tick (Config.Tick, 1 ms
// by default), plus its slack, plus the time that the scheduler and Run take.
// Within a shard, timers of different ticks are handed over in the order of
// their deadlines. As an exception, the timers of a slot with more than about
// 1,000 entries may be interleaved with those of later slots. Timers of one
// tick are in no particular order.
//
// # Words
//
// The timers of a wheel are spread over shards, each with a lock and a driver.
// The driver is one [time.Timer], and its goroutine hands due timers over to
// Config.Run. A tick is the resolution, and a slot holds the timers of one
// tick, or of 64, 64² … ticks. A series consists of the runs of one periodic
// function, and its grid of the instants at which they are due.
//
// # Tests
//
// A wheel works in a testing/synctest bubble. It belongs to the bubble in which
// it was used first:
//
//	synctest.Test(t, func(t *testing.T) {
//		var timers wheel.Timers
//		timers.AfterFunc(time.Hour, func() { … })
//		time.Sleep(time.Hour) // takes no time
//		synctest.Wait()       // the function has run
//	})
package wheel
