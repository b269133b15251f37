package verify

import (
	"slices"
	"testing"
	"time"
)

func TestDelaysAreSortedByWhatCanHaveCausedThem(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name               string
		due, came          float64
		acceptedAt         float64
		faults             []float64
		untouched, touched []time.Duration
	}{
		{"on time, long before a death", 1000, 1000, 0, []float64{5000}, []time.Duration{0}, nil},
		{"due before a death that it came after", 1000, 4000, 0, []float64{1500}, nil, []time.Duration{2500 * time.Millisecond}},
		{"due at the very moment of a death", 1000, 3000, 0, []float64{1000}, nil, []time.Duration{2 * s}},
		{"due after a death", 1000, 3000, 0, []float64{999}, []time.Duration{2 * s}, nil},
		{"it came when the node died", 1000, 1500, 0, []float64{1500}, []time.Duration{500 * time.Millisecond}, nil},
		{"two deaths: the later one counts", 1000, 5000, 0, []float64{3000, 1200}, nil, []time.Duration{2 * s}},
		{"accepted after it was due", 1000, 3000, 2000, nil, []time.Duration{s}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Evidence{Accepted: []Accepted{{"a", at(c.due), at(c.acceptedAt)}, promised("lost", 0)}, Arrived: []Arrived{callback("a", c.came+9000), callback("a", c.came)}}
			for _, f := range c.faults {
				e.Faults = append(e.Faults, kill(f))
			}
			d := e.Delays()
			if !slices.Equal(d.Untouched, c.untouched) || !slices.Equal(d.Touched, c.touched) {
				t.Errorf("the delays are %+v, want %v and %v", d, c.untouched, c.touched)
			}
		})
	}
}
