package verify

import (
	"fmt"
	"slices"
	"time"
)

// A fault between two arrivals explains a duplicate, if the first arrival was
// at most settleWithin before the fault: the server had the answer and had not
// yet stored it. The receiver may also read the first callback a little after
// the fault, because the callback was on the wire.
const (
	settleWithin = time.Second
	WireDelay    = 250 * time.Millisecond
)

// Verdict is the result of Check.
type Verdict struct {
	Accepted, Arrived, Faults int // tasks, callbacks, faults

	Lost         []string // accepted, not cancelled, never arrived
	Early        []string // arrived before they were due
	AfterCancel  []string // arrived after a 200 on their cancel
	Unexplained  []string // arrived twice without a fault that explains the second arrival
	OtherID      []string // arrived again under another webhook-id
	Duplicates   int
	MostPerFault int // duplicates that one fault explains, at most

	Late []time.Duration // of first arrivals, ascending
}

// Check judges the logs. It is a pure function.
func Check(e Evidence) Verdict {
	v := Verdict{Accepted: len(e.Accepted), Arrived: len(e.Arrived), Faults: len(e.Faults)}
	arrivals := map[string][]Arrived{}
	for _, a := range e.Arrived {
		arrivals[a.Name] = append(arrivals[a.Name], a)
	}
	for _, list := range arrivals {
		slices.SortFunc(list, func(a, b Arrived) int { return a.At.Compare(b.At) })
	}
	v.cancels(e.Cancelled, arrivals)
	v.deliveries(e, arrivals)
	v.duplicates(e.Faults, arrivals)
	for _, list := range []*[]string{&v.Lost, &v.Early, &v.AfterCancel, &v.Unexplained, &v.OtherID} {
		slices.Sort(*list) // a map has no order, and the report needs one
	}
	slices.Sort(v.Late)
	return v
}

// cancels finds tasks that were sent although the reply to their cancel was 200.
func (v *Verdict) cancels(cancels []Cancelled, arrivals map[string][]Arrived) {
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

// deliveries finds lost and early tasks, and the lateness of all other tasks.
func (v *Verdict) deliveries(e Evidence, arrivals map[string][]Arrived) {
	maybe := map[string]bool{} // tasks with a cancel that took effect, or may have
	for _, c := range e.Cancelled {
		if c.MayHold() {
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
func (v *Verdict) duplicates(faults []Fault, arrivals map[string][]Arrived) {
	faults = slices.SortedFunc(slices.Values(faults), func(a, b Fault) int { return a.At.Compare(b.At) })
	perFault := make([]int, len(faults))
	for name, list := range arrivals {
		from := 0 // one fault duplicates a task once: the next duplicate needs a later fault
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

// explains returns the index of the fault that can have caused a second
// arrival. The index is at least from, or -1 if there is no such fault. faults
// are in order of time.
func explains(faults []Fault, from int, first, second time.Time) int {
	begin, _ := slices.BinarySearchFunc(faults, first.Add(-WireDelay), func(f Fault, t time.Time) int { return f.At.Compare(t) })
	for i := max(begin, from); i < len(faults) && !faults[i].At.After(second); i++ {
		if faults[i].At.Sub(first) <= settleWithin {
			return i
		}
	}
	return -1
}
