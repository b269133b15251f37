package main

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"
)

// numbered is many tasks that differ by their number alone: prefix-0, prefix-1
// … What check does for some thousands by name, tally does for millions.
type numbered struct {
	prefix string
	count  int
	due    func(i int) time.Time
}

func (n numbered) name(i int) string { return n.prefix + "-" + strconv.Itoa(i) }

// index is the inverse of name.
func (n numbered) index(name []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(name, []byte(n.prefix+"-"))
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(string(rest))
	return i, err == nil && i >= 0 && i < n.count
}

// tally is what a sink's log says about numbered tasks.
type tally struct {
	Arrived int
	Lost    offences // never arrived
	Early   offences // arrived before they were due

	Repeats, Strangers int

	Late      []time.Duration // of first arrivals, ascending
	Displaced []int           // places between a task's by its due time and its by its arrival, ascending
	First     time.Time       // arrival
	Last      time.Time
	Rate      float64 // arrivals a second between the first tenth and the last
}

// tally judges. Its cost is a few sorts of one number for each task.
func (n numbered) tally(arrivals iter.Seq2[sunkLine, error]) (tally, error) {
	var t tally
	first := make([]int64, n.count) // when each arrived first, 0: never
	for l, err := range arrivals {
		if err != nil {
			return t, err
		}
		i, known := n.index(l.name)
		switch {
		case !known:
			t.Strangers++
			continue
		case first[i] != 0:
			t.Repeats++
		}
		t.Arrived++
		if due := n.due(i); l.at < due.UnixNano() {
			t.Early.add("%s by %v", n.name(i), due.Sub(time.Unix(0, l.at)))
		}
		if first[i] == 0 || l.at < first[i] {
			first[i] = l.at
		}
	}
	for i, at := range first {
		if at == 0 {
			t.Lost.add("%s", n.name(i))
			continue
		}
		t.Late = append(t.Late, time.Duration(at-n.due(i).UnixNano()))
	}
	slices.Sort(t.Late)
	t.order(n, first)
	return t, nil
}

// order finds the drain's rate, and how far it strayed from the order of the dues.
func (t *tally) order(n numbered, first []int64) {
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
		dues[i] = n.due(int(i)).UnixNano()
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

// offences counts what went wrong, and keeps the first few to be shown.
type offences struct {
	Count int
	First []string
}

func (o *offences) add(format string, args ...any) {
	const shown = 5
	if o.Count++; o.Count <= shown {
		o.First = append(o.First, fmt.Sprintf(format, args...))
	}
}

func (o offences) String() string { return fmt.Sprint(o.Count) + some(o.First) }

// mustTally prints what a sink's log says of tasks, and holds it against what
// every scenario promises.
func (t *trial) mustTally(n numbered, path string) (tally, error) {
	v, err := n.tally(readSunk(path))
	if err != nil {
		return v, err
	}
	t.note("%s: accepted %d, arrived %d", n.prefix, n.count, v.Arrived)
	t.must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.must(v.Early.Count == 0, "early %v", v.Early)
	t.must(v.Repeats == 0, "duplicates without a fault %d", v.Repeats)
	return v, nil
}
