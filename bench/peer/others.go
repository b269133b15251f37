package peer

import (
	"time"

	"github.com/foliot/foliot/bench/classic"
)

// functions adapts an implementation that takes a function with each timer.
type functions[H any] struct {
	sink   Sink
	after  func(d time.Duration, f func()) H
	remove func(h H) bool
	reset  func(h H, d time.Duration) bool
	count  func() int // nil means that the number is unknown
	close  func()
}

func (f functions[H]) Nop(d time.Duration) H            { return f.after(d, nop) }
func (f functions[H]) Set(d time.Duration, i int) H     { return f.after(d, f.sink.Func(i)) }
func (f functions[H]) Remove(h H) bool                  { return f.remove(h) }
func (f functions[H]) Reset(h H, d time.Duration) bool  { return f.reset(h, d) }
func (f functions[H]) Extend(h H, d time.Duration) bool { return f.reset(h, d) }
func (f functions[H]) Close()                           { f.close() }

func (f functions[H]) Pending() (int, bool) {
	if f.count == nil {
		return 0, false
	}
	return f.count(), true
}

// OpenTime returns package time.
func OpenTime(s Sink) Timers[*time.Timer] {
	return functions[*time.Timer]{
		sink:   s,
		after:  time.AfterFunc,
		remove: (*time.Timer).Stop,
		reset:  (*time.Timer).Reset,
		close:  func() {},
	}
}

// classics is the common interface of the four designs of package classic.
type classics[H any] interface {
	Add(d time.Duration, f func()) H
	Remove(h H) bool
	Reset(h H, d time.Duration) bool
	Len() int
	Close()
}

func ofClassic[H any](s Sink, c classics[H]) Timers[H] {
	return functions[H]{sink: s, after: c.Add, remove: c.Remove, reset: c.Reset, count: c.Len, close: c.Close}
}

// OpenHeap returns the sorted heap.
func OpenHeap(s Sink) Timers[*classic.HeapTimer] {
	return ofClassic[*classic.HeapTimer](s, classic.NewHeap())
}

// OpenRounds returns the hashed wheel with rounds. A turn takes 65 s. With
// Netty's defaults, 512 slots of 100 ms, it would take 51 s.
func OpenRounds(s Sink) Timers[*classic.Timer] {
	return ofClassic[*classic.Timer](s, classic.NewRounds(time.Millisecond, 1<<16))
}

// OpenHands returns the clock of four hands.
func OpenHands(s Sink) Timers[*classic.Timer] {
	return ofClassic[*classic.Timer](s, classic.NewHands())
}

// OpenBuckets returns the hierarchy with a delay queue of buckets.
func OpenBuckets(s Sink) Timers[*classic.Timer] {
	return ofClassic[*classic.Timer](s, classic.NewBuckets(time.Millisecond))
}
