package peer

import "time"

// none does nothing. Its cost is the cost of the harness, which is part of all
// figures.
type none struct{ set int }

// OpenNone returns an implementation without timers.
func OpenNone(Sink) Timers[int] { return new(none) }

func (n *none) Nop(time.Duration) int          { return n.set }
func (n *none) Set(time.Duration, int) int     { return n.set }
func (n *none) Remove(int) bool                { return true }
func (n *none) Reset(int, time.Duration) bool  { return true }
func (n *none) Extend(int, time.Duration) bool { return true }
func (n *none) Pending() (int, bool)           { return 0, false }
func (n *none) Close()                         {}
