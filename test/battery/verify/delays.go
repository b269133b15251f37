package verify

import (
	"slices"
	"time"
)

// Delays are the lateness of first arrivals, by possible cause. Only a due task can
// be claimed. So if a task was due after the last fault before its arrival, no node
// had claimed it at that fault.
type Delays struct {
	Untouched []time.Duration // tasks without a fault between due time and arrival: the time since the due time; ascending
	Touched   []time.Duration // tasks that were due at a fault: the time since the last fault; ascending
}

// Delays sorts the first arrivals of accepted tasks. If a task was accepted after its
// due time, the time of the reply counts as its due time.
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
// and before to; zero means none.
func lastIn(instants []time.Time, from, to time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(instants, to, time.Time.Compare)
	if i == 0 || instants[i-1].Before(from) {
		return time.Time{}
	}
	return instants[i-1]
}
