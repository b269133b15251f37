package peer

import (
	"sync/atomic"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
)

// goZero is go-zero's TimingWheel. Its timers have keys: numbers from 0 for
// Set, and numbers below 0 for Nop. A handle is the key in an interface value,
// so that later calls do not allocate one. The methods of the wheel return an
// error only if the wheel was closed, or if a delay is not above 0.
type goZero struct {
	wheel *collection.TimingWheel
	nops  atomic.Int64
}

// OpenGoZero returns go-zero's TimingWheel, with slots of 10 ms.
func OpenGoZero(s Sink) Timers[any] {
	w, err := collection.NewTimingWheel(10*time.Millisecond, 6000, func(key, _ any) {
		if i := key.(int); i >= 0 {
			s.Fire(i)
		}
	})
	if err != nil {
		panic(err) // cannot fail with these constants
	}
	return &goZero{wheel: w}
}

func (g *goZero) Nop(d time.Duration) any { return g.set(d, int(-g.nops.Add(1))) }

func (g *goZero) Set(d time.Duration, i int) any { return g.set(d, i) }

func (g *goZero) set(d time.Duration, key any) any {
	if err := g.wheel.SetTimer(key, nil, d); err != nil {
		panic(err)
	}
	return key
}

func (g *goZero) Remove(key any) bool                  { return g.wheel.RemoveTimer(key) == nil }
func (g *goZero) Reset(key any, d time.Duration) bool  { return g.wheel.MoveTimer(key, d) == nil }
func (g *goZero) Extend(key any, d time.Duration) bool { return g.Reset(key, d) }
func (g *goZero) Close()                               { g.wheel.Stop() }

// Pending counts the timers that Drain passes to its callback. The wheel
// handles the next request only after Drain has finished, so the call of
// RemoveTimer waits for it.
func (g *goZero) Pending() (int, bool) {
	var n atomic.Int64
	if g.wheel.Drain(func(any, any) { n.Add(1) }) != nil || g.wheel.RemoveTimer(0) != nil {
		return 0, false
	}
	return int(n.Load()), true
}
