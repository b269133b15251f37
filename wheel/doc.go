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
// Who has few timers, or timers that nearly all fire within milliseconds, is served well by package time.
//
// # Promise
//
// A timer fires once, unless Remove, Reset, Extend or Drain says that it took it back: their results are exact, and so is
// what follows from them. It has fired when it is handed to Config.Run, and is pending until then. An ID is never used
// twice, so one that is stale does nothing. A timer of a delay counts on the monotonic clock and is not moved by steps of
// the wall clock; one of [Wheel.AddAt] follows them. There is no largest delay.
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
// A wheel works inside a testing/synctest bubble, and belongs to the bubble where it was used first.
package wheel
