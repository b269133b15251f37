package verify

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Tally summarises the log of a fast receiver for numbered tasks.
type Tally struct {
	Arrived int
	Lost    Offences // never arrived
	Early   Offences // arrived before they were due

	Repeats, Strangers int

	Late      []time.Duration // of first arrivals, ascending
	Displaced []int           // places between a task's by its due time and its by its arrival, ascending
	First     time.Time       // arrival
	Last      time.Time
	Rate      float64 // arrivals a second between the first tenth and the last
}

// Tally judges. Its cost is a few sorts of one number for each task.
func (n Numbered) Tally(arrivals iter.Seq2[Delivery, error]) (Tally, error) {
	var t Tally
	first := make([]int64, n.Count) // when each arrived first, 0: never
	for l, err := range arrivals {
		if err != nil {
			return t, err
		}
		i, known := n.index(l.Name)
		switch {
		case !known:
			t.Strangers++
			continue
		case first[i] != 0:
			t.Repeats++
		}
		t.Arrived++
		if due := n.Due(i); l.At < due.UnixNano() {
			t.Early.Add("%s by %v", n.Name(i), due.Sub(time.Unix(0, l.At)))
		}
		if first[i] == 0 || l.At < first[i] {
			first[i] = l.At
		}
	}
	for i, at := range first {
		if at == 0 {
			t.Lost.Add("%s", n.Name(i))
			continue
		}
		t.Late = append(t.Late, time.Duration(at-n.Due(i).UnixNano()))
	}
	slices.Sort(t.Late)
	t.order(n, first)
	return t, nil
}

// order finds the drain's rate, and how far it strayed from the order of the dues.
func (t *Tally) order(n Numbered, first []int64) {
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
		t.Displaced = append(t.Displaced, max(p-int(place[i]), int(place[i])-p))
	}
	slices.Sort(t.Displaced)
	at := func(share float64) time.Time {
		return time.Unix(0, first[byArrival[int(share*float64(len(byArrival)-1))]])
	}
	t.First, t.Last = at(0), at(1)
	if between := at(0.9).Sub(at(0.1)); between > 0 {
		t.Rate = 0.8 * float64(len(byArrival)) / between.Seconds()
	}
}
