package idle

// Stats is a snapshot of a group's counters since it was created.
type Stats struct {
	Len    int // connections that are tracked
	Queued int // of these, those that wait for a worker

	Tracked, Untracked uint64 // successful calls of Track, and calls of Untrack that returned true

	Asked  Counts // calls of `on`
	Kept   Counts // verdicts to keep
	Closed Counts // verdicts to close that were carried out

	Spared uint64 // connections that were used just before `on` would be called, or read from before the close
	Stalls uint64 // steps that were so late that every connection got a new timeout
}

// Counts are numbers by Reason.
type Counts [Evicted + 1]uint64

// Stats returns the counters.
func (g *Group[C]) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Len, s.Queued = g.tracked, g.queue.waiting
	return s
}
