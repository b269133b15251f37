package verify

import (
	"fmt"
	"slices"
	"time"
)

// RateExcess returns by how many arrivals the worst window holds more than a
// bucket of burst that is refilled at rate allows: at most 0 for a perfect one.
// arrivals are ascending.
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

// QueuePause is when nothing may start: from the answer to a pause up to when its
// end was asked for, or was to come by itself.
type QueuePause struct{ From, To time.Time }

// CheckPauses returns the arrivals that a silence forbids, how many it excuses as
// they were under way when it began, and how many came after the last one.
// arrivals are ascending.
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
