package verify

import (
	"fmt"
	"slices"
	"time"
)

// RateExcess returns by how many arrivals the worst window exceeds the limit: a
// bucket of the size burst that is refilled at rate. It is at most 0 if the
// limit holds. arrivals must be ascending.
//
// A window from the i-th to the j-th arrival holds j-i+1 of them and allows
// burst + rate*(t[j]-t[i]). With f(k) = k - rate*t[k] the excess is
// f(j) - f(i) + 1 - burst, so the smallest f so far decides.
func RateExcess(arrivals []time.Time, rate float64, burst int) float64 {
	worst := float64(-burst)
	var least float64
	for k, at := range arrivals {
		f := float64(k) - rate*at.Sub(arrivals[0]).Seconds()
		if k == 0 || f < least {
			least = f
		}
		worst = max(worst, f-least+1-float64(burst))
	}
	return worst
}

// ArrivalTimes returns when callbacks came, ascending.
func ArrivalTimes(e Evidence) []time.Time {
	list := make([]time.Time, len(e.Arrived))
	for i, a := range e.Arrived {
		list[i] = a.At
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// QueuePause is a time during which no attempt may start: from the answer to a
// pause until the resume was requested, or until the pause ended by itself.
type QueuePause struct{ From, To time.Time }

// CheckPauses returns the arrivals that a pause forbids, the number of arrivals
// that were under way when a pause began, and the number of arrivals after the
// last pause. arrivals must be ascending.
func CheckPauses(silences []QueuePause, arrivals []time.Time) (forbidden []string, underWay, after int) {
	for _, at := range arrivals {
		for _, s := range silences {
			switch {
			case !at.After(s.From) || !at.Before(s.To):
			case at.After(s.From.Add(WireDelay)):
				forbidden = append(forbidden, fmt.Sprintf("%v after the answer", at.Sub(s.From)))
			default:
				underWay++
			}
		}
		if len(silences) > 0 && at.After(silences[len(silences)-1].To) {
			after++
		}
	}
	return forbidden, underWay, after
}
