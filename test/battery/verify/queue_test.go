package verify

import (
	"math"
	"testing"
	"time"
)

// every returns count arrivals at equal distances in milliseconds, from an
// instant on.
func every(fromMS, stepMS float64, count int) []time.Time {
	list := make([]time.Time, count)
	for i := range list {
		list[i] = at(fromMS + float64(i)*stepMS)
	}
	return list
}

func TestARateIsHeldOverEveryWindow(t *testing.T) {
	const rate, burst = 50, 10 // one each 20 ms
	burstThenRate := append(every(0, 0, burst), every(20, 20, 100)...)
	for name, c := range map[string]struct {
		arrivals []time.Time
		over     float64
	}{
		"none":                              {nil, -burst},
		"one":                               {every(0, 0, 1), 1 - burst},
		"a burst and the rate":              {burstThenRate, 0},
		"a burst of one more":               {every(0, 0, burst+1), 1},
		"the rate alone":                    {every(0, 20, 1000), 1 - burst},
		"twice the rate, soon over":         {every(0, 10, 15), 15 - burst - 50*0.14},
		"twice the rate":                    {every(0, 10, 1000), 1000 - burst - 50*9.99},
		"a second burst after it, too soon": {append(burstThenRate, every(2100, 0, burst)...), 5},
		"too much after a long silence":     {append(every(0, 0, 1), every(10_000, 0, 20)...), 10},
		"a second burst after a silence":    {append(burstThenRate, every(2220, 0, burst)...), 0},
	} {
		got := RateExcess(c.arrivals, rate, burst)
		if math.Abs(got-c.over) > 0.01 {
			t.Errorf("%s: %.2f beyond what is allowed, want %.2f", name, got, c.over)
		}
	}
}

func TestASilenceIsBrokenByWhatWasNotUnderWay(t *testing.T) {
	silences := []QueuePause{{at(1000), at(3000)}, {at(4000), at(6000)}}
	for name, c := range map[string]struct {
		millis                     float64
		forbidden, underWay, after int
	}{
		"before":                     {999, 0, 0, 0},
		"under way":                  {1100, 0, 1, 0},
		"in the first one":           {2000, 1, 0, 0},
		"right before its end":       {2999, 1, 0, 0},
		"between":                    {3500, 0, 0, 0},
		"under way in the second":    {4010, 0, 1, 0},
		"in the second one":          {5999, 1, 0, 0},
		"after the second has ended": {6001, 0, 0, 1},
	} {
		forbidden, underWay, after := CheckPauses(silences, []time.Time{at(c.millis)})
		if len(forbidden) != c.forbidden || underWay != c.underWay || after != c.after {
			t.Errorf("%s: forbidden %v, under way %d, after %d", name, forbidden, underWay, after)
		}
	}
}

func TestThePurgeVerdictCatchesWhatItIsFor(t *testing.T) {
	accepted := []Accepted{promised("early", 500), promised("late", 60_000)}
	doomed := []string{"early", "late"}
	type counts struct{ lost, after, before, underWay, duplicates int }
	for name, c := range map[string]struct {
		arrived []Arrived
		want    counts
	}{
		"as it should be":               {[]Arrived{callback("early", 501)}, counts{before: 1}},
		"lost what was due before":      {nil, counts{lost: 1}},
		"under way":                     {[]Arrived{callback("early", 501), callback("late", 5100)}, counts{before: 1, underWay: 1}},
		"delivered although purged":     {[]Arrived{callback("early", 501), callback("late", 60_001)}, counts{before: 1, after: 1}},
		"twice":                         {[]Arrived{callback("early", 501), callback("early", 502)}, counts{before: 1, duplicates: 1}},
		"another queue's is not judged": {[]Arrived{callback("early", 501), callback("other", 60_001)}, counts{before: 1}},
	} {
		v := CheckPurge(Evidence{Accepted: accepted, Arrived: c.arrived}, at(4990), at(5000), doomed)
		if got := (counts{len(v.Lost), len(v.After), v.Before, v.UnderWay, v.Duplicates}); got != c.want {
			t.Errorf("%s: the verdict is %+v, want %+v", name, got, c.want)
		}
	}
}
