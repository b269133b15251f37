package main

import (
	"slices"
	"time"
)

// delays are how late first arrivals were, by what can have delayed them. Only
// what is due can be claimed: so a task that was due after the last fault before
// its arrival was in nobody's hands when that happened.
type delays struct {
	Untouched []time.Duration // no fault between its due time and its arrival: since it was due; ascending
	Touched   []time.Duration // it was due at a fault: since the last one; ascending
}

// delays sorts the first arrivals of what was accepted. A task that was accepted
// after it was due is due when that was answered.
func (e evidence) delays() (d delays) {
	first := map[string]time.Time{}
	for _, a := range e.Arrived {
		if at, known := first[a.Name]; !known || a.At.Before(at) {
			first[a.Name] = a.At
		}
	}
	faults := make([]time.Time, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = f.At
	}
	slices.SortFunc(faults, time.Time.Compare)
	for _, t := range e.Accepted {
		at, came := first[t.Name]
		if !came {
			continue
		}
		if last := lastIn(faults, t.Due, at); !last.IsZero() {
			d.Touched = append(d.Touched, at.Sub(last))
			continue
		}
		due := t.Due
		if t.At.After(due) {
			due = t.At
		}
		d.Untouched = append(d.Untouched, at.Sub(due))
	}
	slices.Sort(d.Untouched)
	slices.Sort(d.Touched)
	return d
}

// lastIn returns the last of some instants, in order, that is not before from
// and before to; zero: none.
func lastIn(instants []time.Time, from, to time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(instants, to, time.Time.Compare)
	if i == 0 || instants[i-1].Before(from) {
		return time.Time{}
	}
	return instants[i-1]
}

// mustDelays prints them and holds them against what is promised of a node's
// death: untouched tasks come within its shard lease and a second, those in
// flight within their own lease and a second.
func (n *nodes) mustDelays() error {
	e, err := n.evidence()
	if err != nil {
		return err
	}
	d := e.delays()
	n.t.mustCome("untouched by a fault", d.Untouched, n.t.opts.shardLease+time.Second)
	n.t.mustCome("that were due at a fault, after it", d.Touched, n.t.opts.taskLease+time.Second)
	return nil
}

// mustCome prints how late some tasks were, and holds the latest against a bound.
func (t *trial) mustCome(what string, late []time.Duration, bound time.Duration) {
	t.lateness(what, late)
	most := percentile(late, 100)
	t.must(most <= bound, "the latest of %d %s: %s, at most %v", len(late), what, ms(most), bound)
}
