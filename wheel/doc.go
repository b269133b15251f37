// Package wheel is a hierarchical timing wheel: timers for programs that have
// very many of them, move them often, and remove most of them before they fire.
//
// A [Wheel] carries a value of any type with each timer, and calls one function
// when timers fire:
//
//	w := wheel.New(wheel.Config{}, func(s *Session) { s.Expire() })
//	id := w.Add(30*time.Second, s)
//	w.Extend(id, 30*time.Second) // the session sent something: one compare-and-swap
//	w.Remove(id)                 // the session ended
//
// [NewBatch] makes a Wheel that hands over due timers in batches. There are
// four other types:
//
//   - [Timers] has the functions of package time and the deadlines of package
//     context as methods with the same meaning. It adds periods that do not
//     drift, a Stop that waits, and a limit;
//   - [Keyed] has one timer for each key: set, move, remove;
//   - [Core] is the wheel without a lock and a clock, for event loops and
//     simulations;
//   - [Pool] runs callbacks on a limited number of goroutines.
//
// If you have few timers, or nearly all of them fire within milliseconds, use
// package time.
//
// # Promise
//
// A timer fires once, at its latest deadline, unless Remove or Drain returned
// it, the wheel was closed before, or Run refused its callback (Stats.Dropped).
// The results of Remove, Reset and Extend are exact. A timer is pending until
// it is handed over to Config.Run; then it has fired. A wheel never uses an ID
// twice, so a stale ID does nothing. IDs of different wheels cannot be
// distinguished. A timer with a delay counts on the monotonic clock, and steps
// of the wall clock do not move it. A timer of [Wheel.AddAt] follows the wall
// clock. There is no maximum delay.
//
// # Cost
//
// Add, Remove and Reset take a lock and O(1), Extend one compare-and-swap. None
// of them allocates. A timer costs 24 bytes and its value. If values hold no
// pointers, the garbage collector has nothing to scan. A timer of Timers is
// also an object; a key of Keyed also takes a slot in a table. No type of this
// package has a goroutine while nothing is due: its driver sleeps until the
// next slot that is not empty, and it need not be closed. docs/benchmarks.md in
// the repository compares the figures with package time and other
// implementations.
//
// # Accuracy
//
// A timer is never early. It is late by less than one tick (Config.Tick, 1 ms
// by default), plus its slack, plus the time that the scheduler and Run take.
// Within a shard, timers of different ticks are handed over in the order of
// their deadlines, except that a very large slot takes turns with the slots
// after it. Timers of one tick are in no particular order.
//
// # Words
//
// The timers of a wheel are spread over shards. Each shard has a lock and a
// driver. The driver is one timer of package time; on its goroutine the due
// timers are handed over to Config.Run. A tick is the resolution. A slot holds
// the timers of one tick, or of 64, 64² … ticks. A series is the runs of one
// periodic function, and its grid is the instants at which the runs are due.
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
