package verify

import (
	"time"
)

// Accepted is a line of the client's log: the server answered 2xx to a create.
type Accepted struct {
	Name string    `json:"name"`
	Due  time.Time `json:"due"`
	At   time.Time `json:"at"` // when the reply was read
}

// Cancelled is a line of the client's log: the answer to a cancel. Status 0
// means that no answer came, so the cancel may have been carried out or not.
type Cancelled struct {
	Name   string    `json:"name"`
	Status int       `json:"status"`
	At     time.Time `json:"at"`
}

// MayHold reports whether the cancel was carried out, or may have been. A
// server that stops in the middle of a change answers with 503, and the change
// may be on its disk.
func (c Cancelled) MayHold() bool {
	return c.Status == 0 || c.Status == 200 || c.Status == 202 || c.Status >= 500
}

// Arrived is a line of the receiver's log: a callback, before it was answered.
type Arrived struct {
	Name string    `json:"name"`
	ID   string    `json:"id"` // webhook-id
	At   time.Time `json:"at"` // when the handler began
}

// Fault is a line of the log of faults.
type Fault struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
}

// Evidence is everything that a verdict can use.
type Evidence struct {
	Accepted  []Accepted
	Cancelled []Cancelled
	Arrived   []Arrived
	Faults    []Fault
}

// Split divides the evidence by tasks: the first part has the tasks that the
// logs name before an instant, and the second part the others. Both have all
// faults.
func (e Evidence) Split(at time.Time) (before, after Evidence) {
	early := map[string]bool{}
	for _, a := range e.Accepted {
		early[a.Name] = a.At.Before(at)
	}
	for _, c := range e.Cancelled {
		early[c.Name] = early[c.Name] || c.At.Before(at)
	}
	for _, a := range e.Arrived {
		early[a.Name] = early[a.Name] || a.At.Before(at)
	}
	before.Accepted, after.Accepted = apart(e.Accepted, func(a Accepted) bool { return early[a.Name] })
	before.Cancelled, after.Cancelled = apart(e.Cancelled, func(c Cancelled) bool { return early[c.Name] })
	before.Arrived, after.Arrived = apart(e.Arrived, func(a Arrived) bool { return early[a.Name] })
	before.Faults, after.Faults = e.Faults, e.Faults
	return before, after
}

// apart divides a list.
func apart[T any](list []T, first func(T) bool) (is, isNot []T) {
	for _, x := range list {
		if first(x) {
			is = append(is, x)
		} else {
			isNot = append(isNot, x)
		}
	}
	return is, isNot
}

// DueWithin returns the evidence of the tasks that are due from an instant until
// before another; zero means for ever.
func (e Evidence) DueWithin(from, until time.Time) Evidence {
	part := Evidence{Arrived: e.Arrived}
	for _, a := range e.Accepted {
		if !a.Due.Before(from) && (until.IsZero() || a.Due.Before(until)) {
			part.Accepted = append(part.Accepted, a)
		}
	}
	return part
}

// Unexpected returns the names of arrivals without a promise.
func (e Evidence) Unexpected() (names []string) {
	known := map[string]bool{}
	for _, a := range e.Accepted {
		known[a.Name] = true
	}
	for _, a := range e.Arrived {
		if !known[a.Name] {
			names = append(names, a.Name)
		}
	}
	return names
}
