package verify

import (
	"slices"
	"strconv"
	"testing"
)

func TestOccurrencesAreJudgedByTheirSchedulesAndInstants(t *testing.T) {
	due := func(i int) string { return three.Name(i) + "@" + strconv.FormatInt(three.Due(i).UnixMilli(), 10) }
	arrivals := deliveriesAt(due(0), 101.0, due(1), 201.0, "a-1@17", 202.0, due(2), 301.0, "b-0@1", 303.0)
	first := three.Before(three.Due(2))
	v, err := first.Check(three.Occurrences(arrivals, first.Count))
	if err != nil {
		t.Fatal(err)
	}
	if first.Count != 2 || v.Arrived != 2 || v.Lost.Count != 0 || v.Repeats != 0 || v.Unknown != 2 {
		t.Errorf("of %d: %+v", first.Count, v)
	}
}

func TestAnOccurrenceOfNoInstantIsAStranger(t *testing.T) {
	e := Evidence{Accepted: []Accepted{{Name: "every@1000"}}, Arrived: []Arrived{{Name: "every@1000"}, {Name: "every@1500"}}}
	if got := e.Unexpected(); !slices.Equal(got, []string{"every@1500"}) {
		t.Errorf("%v", got)
	}
}
