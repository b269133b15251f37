package verify

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// NumberedVerdict is the result of Numbered.Check.
type NumberedVerdict struct {
	Arrived int
	Lost    Offences // never arrived
	Early   Offences // arrived before they were due

	Repeats int // second arrivals of a task
	Unknown int // arrivals of other tasks

	Late      []time.Duration // of first arrivals, ascending
	Displaced []int           // distance of a task's place by due time from its place by arrival, ascending
	First     time.Time       // arrival
	Last      time.Time
	Rate      float64 // arrivals a second between the first tenth and the last
}

// Check judges the log of a fast receiver. Its cost is a few sorts of one number for
// each task.
func (n Numbered) Check(arrivals iter.Seq2[Delivery, error]) (NumberedVerdict, error) {
	var v NumberedVerdict
	first := make([]int64, n.Count) // when each arrived first; zero means never
	for l, err := range arrivals {
		if err != nil {
			return v, err
		}
		i, known := n.index(l.Name)
		switch {
		case !known:
			v.Unknown++
			continue
		case first[i] != 0:
			v.Repeats++
		}
		v.Arrived++
		if due := n.Due(i); l.At < due.UnixNano() {
			v.Early.Add("%s by %v", n.Name(i), due.Sub(time.Unix(0, l.At)))
		}
		if first[i] == 0 || l.At < first[i] {
			first[i] = l.At
		}
	}
	for i, at := range first {
		if at == 0 {
			v.Lost.Add("%s", n.Name(i))
			continue
		}
		v.Late = append(v.Late, time.Duration(at-n.Due(i).UnixNano()))
	}
	slices.Sort(v.Late)
	v.order(n, first)
	return v, nil
}

// order finds the rate of the deliveries, and how far their order differs from
// that of the due times.
func (v *NumberedVerdict) order(n Numbered, first []int64) {
	byDue := make([]int32, 0, len(first))
	for i, at := range first {
		if at != 0 {
			byDue = append(byDue, int32(i))
		}
	}
	if len(byDue) == 0 {
		return
	}
	byArrival := slices.Clone(byDue)
	slices.SortFunc(byArrival, func(a, b int32) int { return cmp.Compare(first[a], first[b]) })
	dues := make([]int64, len(first))
	for _, i := range byDue {
		dues[i] = n.Due(int(i)).UnixNano()
	}
	// Between tasks that are due at the same instant any order is right.
	slices.SortFunc(byDue, func(a, b int32) int {
		return cmp.Or(cmp.Compare(dues[a], dues[b]), cmp.Compare(first[a], first[b]))
	})
	place := make([]int32, len(first))
	for p, i := range byDue {
		place[i] = int32(p)
	}
	for p, i := range byArrival {
		v.Displaced = append(v.Displaced, max(p-int(place[i]), int(place[i])-p))
	}
	slices.Sort(v.Displaced)
	at := func(share float64) time.Time {
		return time.Unix(0, first[byArrival[int(share*float64(len(byArrival)-1))]])
	}
	v.First, v.Last = at(0), at(1)
	if between := at(0.9).Sub(at(0.1)); between > 0 {
		v.Rate = 0.8 * float64(len(byArrival)) / between.Seconds()
	}
}
