package verify

import (
	"slices"
	"testing"
	"time"
)

func TestAPhaseHasTheTasksThatAreDueInIt(t *testing.T) {
	e := Evidence{
		Accepted: []Accepted{{Name: "a", Due: at(99)}, {Name: "b", Due: at(100)}, {Name: "c", Due: at(199)}, {Name: "d", Due: at(200)}},
		Arrived:  []Arrived{{Name: "a", At: at(101)}, {Name: "b", At: at(103)}, {Name: "c", At: at(204)}, {Name: "d", At: at(206)}},
	}
	ms := time.Millisecond
	if got, want := Check(e.DueWithin(at(100), at(200))).Late, []time.Duration{3 * ms, 5 * ms}; !slices.Equal(got, want) {
		t.Errorf("from 100 to 200: %v, want %v", got, want)
	}
	if got, want := Check(e.DueWithin(at(200), time.Time{})).Late, []time.Duration{6 * ms}; !slices.Equal(got, want) {
		t.Errorf("from 200: %v, want %v", got, want)
	}
}
