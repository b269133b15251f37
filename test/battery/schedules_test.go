package main

import (
	"slices"
	"strconv"
	"testing"
)

func TestOccurrencesAreJudgedByTheirSchedulesAndInstants(t *testing.T) {
	due := func(i int) string { return three.name(i) + "@" + strconv.FormatInt(three.due(i).UnixMilli(), 10) }
	arrivals := sunkAt(due(0), 101.0, due(1), 201.0, "a-1@17", 202.0, due(2), 301.0, "b-0@1", 303.0)
	first := three.before(three.due(2))
	v, err := first.tally(three.occurrences(arrivals, first.count))
	if err != nil {
		t.Fatal(err)
	}
	if first.count != 2 || v.Arrived != 2 || v.Lost.Count != 0 || v.Repeats != 0 || v.Strangers != 2 {
		t.Errorf("of %d: %+v", first.count, v)
	}
}

func TestAnOccurrenceOfNoInstantIsAStranger(t *testing.T) {
	e := evidence{Accepted: []accepted{{Name: "every@1000"}}, Arrived: []arrived{{Name: "every@1000"}, {Name: "every@1500"}}}
	if got := e.strangers(); !slices.Equal(got, []string{"every@1500"}) {
		t.Errorf("%v", got)
	}
}
