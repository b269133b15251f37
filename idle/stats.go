package idle

// Stats is a snapshot of a group's counters since it was created.
type Stats struct {
	Len    int // tracked connections, as Group.Len returns
	Queued int // tracked connections that wait for a worker

	Tracked   uint64 // calls of Track that succeeded
	Untracked uint64 // calls of Untrack that returned true

	Asked  Counts // calls of the callback
	Kept   Counts // verdicts to keep
	Closed Counts // verdicts to close, after which the group forgot the connection

	// Spared counts connections that were used just before the callback would
	// have been called, or that were read from before the close.
	Spared uint64

	Stalls uint64 // steps that were so late that every connection got a new timeout; see Config.Resolution
}

// Counts are numbers by Reason.
type Counts struct{ of [Evicted + 1]uint64 } // the first is not used

// Of returns the number for a reason, and 0 for a value that is not a reason.
func (c Counts) Of(r Reason) uint64 {
	if int(r) >= len(c.of) {
		return 0
	}
	return c.of[r]
}

// Stats returns the counters.
func (g *Group[C]) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Len, s.Queued = g.tracked, g.queue.waiting
	return s
}
