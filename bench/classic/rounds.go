package classic

import (
	"time"

	"github.com/foliot/foliot/examples/textbook"
)

// Rounds is the hashed wheel with rounds, [textbook.Ring]: one ring of slots,
// with a slot for each tick. Each timer has the number of turns that it still
// has to wait. This is scheme 6 of Varghese and Lauck ("Hashed and Hierarchical
// Timing Wheels", 1987) and the design of Netty's HashedWheelTimer. Add and
// Remove are O(1), but each turn of the wheel visits every timer. In Netty,
// callers put timers into a queue, and its thread takes up to 100,000 in each
// tick. Here a timer goes into its slot at once.
type Rounds struct{ ticking }

// NewRounds returns an empty wheel and starts its goroutine.
func NewRounds(tick time.Duration, slots int) *Rounds {
	if tick <= 0 || slots <= 0 {
		panic("classic: NewRounds needs a tick and a number of slots above 0")
	}
	r := &Rounds{ticking{driver: newDriver(), tick: tick, wheel: textbook.NewRing(slots)}}
	r.start(r.pass)
	return r
}
