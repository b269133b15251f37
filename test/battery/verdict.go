package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// accepted is a line of the client's log: the server answered 2xx to a create.
type accepted struct {
	Name string    `json:"name"`
	Due  time.Time `json:"due"`
	At   time.Time `json:"at"` // when the reply was read
}

// cancelled is a line of the client's log: the answer to a cancel. Status 0
// means that none came, so that it may have been carried out or not.
type cancelled struct {
	Name   string    `json:"name"`
	Status int       `json:"status"`
	At     time.Time `json:"at"`
}

// mayHold reports whether the cancel was carried out, or may have been. A server that stops
// in the middle of a change answers with 503, and the change may be on its disk.
func (c cancelled) mayHold() bool {
	return c.Status == 0 || c.Status == 200 || c.Status == 202 || c.Status >= 500
}

// arrived is a line of the receiver's log: a callback, before it was answered.
type arrived struct {
	Name string    `json:"name"`
	ID   string    `json:"id"` // webhook-id
	At   time.Time `json:"at"` // when the handler began
}

// fault is a line of the log of what was done to the server.
type fault struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
}

// evidence is all that a verdict may look at.
type evidence struct {
	Accepted  []accepted
	Cancelled []cancelled
	Arrived   []arrived
	Faults    []fault
}

// A duplicate is explained by a fault that fell between its two arrivals, if
// the first one was at most settleWithin before it: the server had the answer
// and had not yet written it down. The first may also be read by the receiver
// a little after the fault: it was on the wire.
const (
	settleWithin = time.Second
	wireDelay    = 250 * time.Millisecond
)

// verdict is what the evidence says.
type verdict struct {
	Accepted, Arrived, Faults int // tasks, callbacks, faults

	Lost         []string // accepted, not cancelled, never arrived
	Early        []string // arrived before they were due
	AfterCancel  []string // arrived after a 200 on their cancel
	Unexplained  []string // arrived twice without a fault that explains it
	OtherID      []string // arrived again under another webhook-id
	Duplicates   int
	MostPerFault int // duplicates that one fault explains, at most

	Late []time.Duration // of first arrivals, ascending
}

// check judges. It is a pure function of the logs.
func check(e evidence) verdict {
	v := verdict{Accepted: len(e.Accepted), Arrived: len(e.Arrived), Faults: len(e.Faults)}
	arrivals := map[string][]arrived{}
	for _, a := range e.Arrived {
		arrivals[a.Name] = append(arrivals[a.Name], a)
	}
	for _, list := range arrivals {
		slices.SortFunc(list, func(a, b arrived) int { return a.At.Compare(b.At) })
	}
	v.cancels(e.Cancelled, arrivals)
	v.deliveries(e, arrivals)
	v.duplicates(e.Faults, arrivals)
	for _, list := range []*[]string{&v.Lost, &v.Early, &v.AfterCancel, &v.Unexplained, &v.OtherID} {
		slices.Sort(*list) // maps have no order, reports should
	}
	slices.Sort(v.Late)
	return v
}

// cancels finds what was sent although its cancel was answered with 200.
func (v *verdict) cancels(cancels []cancelled, arrivals map[string][]arrived) {
	for _, c := range cancels {
		if c.Status != 200 {
			continue
		}
		for _, a := range arrivals[c.Name] {
			if a.At.After(c.At) {
				v.AfterCancel = append(v.AfterCancel, fmt.Sprintf("%s, %v after the reply", c.Name, a.At.Sub(c.At)))
			}
		}
	}
}

// deliveries finds what never came, came early, and how late the rest was.
func (v *verdict) deliveries(e evidence, arrivals map[string][]arrived) {
	maybe := map[string]bool{} // whose cancel took effect, or may have
	for _, c := range e.Cancelled {
		if c.mayHold() {
			maybe[c.Name] = true
		}
	}
	for _, t := range e.Accepted {
		list := arrivals[t.Name]
		if len(list) == 0 {
			if !maybe[t.Name] {
				v.Lost = append(v.Lost, t.Name)
			}
			continue
		}
		for _, a := range list {
			if a.At.Before(t.Due) {
				v.Early = append(v.Early, fmt.Sprintf("%s by %v", t.Name, t.Due.Sub(a.At)))
			}
		}
		v.Late = append(v.Late, list[0].At.Sub(t.Due))
	}
}

// duplicates counts repeated arrivals and looks for the fault behind each.
func (v *verdict) duplicates(faults []fault, arrivals map[string][]arrived) {
	faults = slices.SortedFunc(slices.Values(faults), func(a, b fault) int { return a.At.Compare(b.At) })
	perFault := make([]int, len(faults))
	for name, list := range arrivals {
		from := 0 // one fault doubles a task once: the next repeat needs a later one
		for i := 1; i < len(list); i++ {
			v.Duplicates++
			if list[i].ID != list[i-1].ID {
				v.OtherID = append(v.OtherID, name)
			}
			f := explains(faults, from, list[i-1].At, list[i].At)
			if f < 0 {
				v.Unexplained = append(v.Unexplained, fmt.Sprintf("%s, %v apart", name, list[i].At.Sub(list[i-1].At)))
				continue
			}
			perFault[f]++
			from = f + 1
		}
	}
	if len(perFault) > 0 {
		v.MostPerFault = slices.Max(perFault)
	}
}

// explains returns the index, not below from, of the fault that can have caused
// a second arrival, -1 for none. faults are in order of time.
func explains(faults []fault, from int, first, second time.Time) int {
	begin, _ := slices.BinarySearchFunc(faults, first.Add(-wireDelay), func(f fault, t time.Time) int { return f.At.Compare(t) })
	for i := max(begin, from); i < len(faults) && !faults[i].At.After(second); i++ {
		if faults[i].At.Sub(first) <= settleWithin {
			return i
		}
	}
	return -1
}

// percentile returns the p-th percentile of an ascending list, 0 of none.
func percentile[T cmp.Ordered](sorted []T, p float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	i := int(p / 100 * float64(len(sorted)))
	return sorted[min(i, len(sorted)-1)]
}
