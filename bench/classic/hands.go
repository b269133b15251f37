package classic

import (
	"time"

	"github.com/foliot/foliot/examples/textbook"
)

// Hands is the clock of four hands, [textbook.Hands]: rings of 60 seconds, 60
// minutes, 24 hours and 365 days. This is scheme 7 of Varghese and Lauck
// ("Hashed and Hierarchical Timing Wheels", 1987), with their own example of a
// clock. A fifth ring of 1000 milliseconds stands below the four, so that the
// lateness can be compared. Add and Remove are O(1). A timer moves at most four
// times, and once more for each year of its delay.
type Hands struct{ ticking }

// NewHands returns an empty clock and starts its goroutine.
func NewHands() *Hands {
	h := &Hands{ticking{driver: newDriver(), tick: time.Millisecond, wheel: textbook.NewHands(1000, 60, 60, 24, 365)}}
	h.start(h.pass)
	return h
}
