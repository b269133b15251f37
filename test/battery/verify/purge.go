package verify

import (
	"fmt"
	"time"
)

// PurgeVerdict is the result of CheckPurge.
type PurgeVerdict struct {
	Lost       []string // due a second before the request of the purge, and never arrived
	After      []string // arrived more than WireDelay after the reply
	Before     int      // arrived before the reply to the purge
	UnderWay   int      // arrived at most WireDelay after the reply
	Duplicates int
}

// CheckPurge judges the tasks of a queue after a purge. The request and the reply of
// the purge were at these moments. It is a pure function of the logs.
func CheckPurge(e Evidence, asked, answered time.Time, doomed []string) (v PurgeVerdict) {
	arrival := map[string]time.Time{}
	for _, a := range e.Arrived {
		if !arrival[a.Name].IsZero() {
			v.Duplicates++
		}
		arrival[a.Name] = a.At
	}
	dues := map[string]time.Time{}
	for _, a := range e.Accepted {
		dues[a.Name] = a.Due
	}
	for _, name := range doomed {
		at, came := arrival[name]
		switch {
		case !came && dues[name].Before(asked.Add(-time.Second)):
			v.Lost = append(v.Lost, name)
		case !came:
		case at.After(answered.Add(WireDelay)):
			v.After = append(v.After, fmt.Sprintf("%s, %v after the answer", name, at.Sub(answered)))
		case at.After(answered):
			v.UnderWay++
		default:
			v.Before++
		}
	}
	return v
}
