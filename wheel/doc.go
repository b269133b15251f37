// Package wheel is a hierarchical timing wheel: timers for programs that have very many of them, move them often and
// remove most of them before they fire.
//
// A [Wheel] carries a value of any type with each timer and calls one function for all that fire:
//
//	w := wheel.New(wheel.Config{}, func(s *Session) { s.Expire() })
//	id := w.Add(30*time.Second, s)
//	w.Extend(id, 30*time.Second) // it was heard of again: one compare-and-swap
//	w.Remove(id)                 // it said goodbye
//
// [NewBatch] hands over what is due in batches. Four types stand beside it:
//
//   - [Timers] has the functions of package time and the deadlines of package context as methods, which mean the same;
//     and periods that do not drift, a Stop that waits, a limit;
//   - [Keyed] has one timer for each key: set, move, remove;
//   - [Core] is the wheel without a lock and a clock, for event loops and simulation;
//   - [Pool] runs callbacks on a limited number of goroutines.
//
// If you have few timers, or timers that nearly all fire within milliseconds, package time serves you well.
//
// # Promise
//
// A timer fires once, at its latest deadline, unless Remove or Drain returned it, the wheel was closed before, or its
// callback was refused (Stats.Dropped). What Remove, Reset and Extend return is exact. A timer has fired when it is handed
// over to Config.Run, and is pending until then. A wheel never uses an ID twice, so one that is stale does nothing; IDs of
// different wheels are not told apart. A timer set with a delay counts on the monotonic clock and is not moved by steps of the
// wall clock; one of [Wheel.AddAt] follows them. There is no largest delay.
//
// # Cost
//
// Add, Remove and Reset take a lock and O(1), Extend one compare-and-swap; none allocates. A timer costs 24 bytes and
// its value, and if values hold no pointers the garbage collector has nothing to scan. A timer of Timers is an object
// besides, a key of Keyed a slot in a table. Nothing here has a goroutine while nothing is due: it sleeps until the
// next slot that holds something, and need not be closed. docs/benchmarks.md in the repository has figures, beside those of
// package time and others.
//
// # Accuracy
//
// Never early. Late by less than one tick (Config.Tick, 1 ms by default), by the slack that was allowed, and by what the
// scheduler and Run take. Timers of different ticks are handed over in the order of their deadlines within a shard, but
// a very large slot takes turns with those after it; timers of one tick are in no particular order.
//
// # Words
//
// A wheel's timers are spread over shards, each with a lock and a driver: one timer of package time, on whose goroutine
// what is due is handed over to Config.Run. A tick is the resolution, a slot the timers of one tick or of 64, 64² … ticks. A
// series is the runs of one periodic function, and its grid the instants where they stand.
//
// # Tests
//
// A wheel works inside a testing/synctest bubble, and belongs to the bubble where it was used first:
//
//	synctest.Test(t, func(t *testing.T) {
//		var timers wheel.Timers
//		timers.AfterFunc(time.Hour, func() { … })
//		time.Sleep(time.Hour) // takes no time
//		synctest.Wait()       // the function has run
//	})
package wheel
