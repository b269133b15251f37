package idle

// Stats is a snapshot of a group's counters since it was created.
type Stats struct {
	Len    int // connections that are tracked
	Queued int // of these, those that wait for a worker

	Tracked, Untracked uint64 // calls of Track that succeeded, and of Untrack that returned true

	Asked  Counts // calls of `on`
	Kept   Counts // verdicts to keep
	Closed Counts // verdicts to close that were carried out

	Spared uint64 // connections that were used just before `on` was called for them, or were heard before the close
	Stalls uint64 // steps that came so late that every connection was given a new timeout
}

// Counts are numbers by reason.
type Counts [Evicted + 1]uint64

// Stats returns the counters.
func (g *Group[C]) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	s.Len, s.Queued = g.tracked, g.queue.waiting
	return s
}
