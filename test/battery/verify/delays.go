package verify

import (
	"slices"
	"time"
)

// Delays are how late first arrivals were, by what can have delayed them. Only
// what is due can be claimed: so a task that was due after the last fault before
// its arrival was in nobody's hands when that happened.
type Delays struct {
	Untouched []time.Duration // no fault between its due time and its arrival: since it was due; ascending
	Touched   []time.Duration // it was due at a fault: since the last one; ascending
}

// Delays sorts the first arrivals of what was accepted. A task that was accepted
// after it was due is due when that was answered.
func (e Evidence) Delays() (d Delays) {
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
