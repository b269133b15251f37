package verify

import (
	"fmt"
	"slices"
	"time"
)

// The operations of a diskRequest.
const (
	CreateTask = "create"
	PatchTask  = "patch"
	CancelTask = "cancel"
)

const (
	MissingTask = "missing"  // the state of a task that the store does not have
	unsentTask  = "unsent"   // the state of a task that is delivered in the store, but no receiver got
	PatchLabel  = "patch"    // the label that holds the number of a task's last change
	fullStore   = "capacity" // the code of a change that was refused before it was made
)

// DiskRequest is a line of the client's log: a request and its answer.
type DiskRequest struct {
	Name   string    `json:"name"`
	Op     string    `json:"op"`
	Due    time.Time `json:"due,omitzero"`    // of a create or a patch
	Patch  int       `json:"patch,omitempty"` // the number of a patch, from 1
	Status int       `json:"status"`          // zero means that no complete reply came
	Code   string    `json:"code,omitempty"`  // of a problem
	Unsent bool      `json:"unsent,omitempty"`
	Error  string    `json:"error,omitempty"`
	Sent   time.Time `json:"sent"`
	At     time.Time `json:"at"` // when the answer was read, or the connection was cut
}

// unclear reports whether the request may have been carried out or not.
func (q DiskRequest) unclear() bool {
	return !q.Unsent && q.Code != fullStore && (q.Status == 0 || q.Status >= 500)
}

// answer names the answer in a table.
func (q DiskRequest) answer() string {
	switch {
	case q.Unsent:
		return "not sent"
	case q.Status == 0:
		return "cut"
	case q.Code == fullStore:
		return "refused"
	}
	return fmt.Sprint(q.Status)
}

// DiskRecord is the state of a task that the server showed at the end.
type DiskRecord struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Patch    int    `json:"patch,omitempty"` // the last one in its record
	Reclaims int    `json:"reclaims,omitempty"`
}

// DiskEvidence is everything that the verdict on a full disk can use. Accepted
// and Cancelled are derived from Requests.
type DiskEvidence struct {
	Evidence
	Requests []DiskRequest
	Records  []DiskRecord
}

// DiskVerdict is the outcome of the tasks of some runs.
type DiskVerdict struct {
	Verdict
	Runs, Ended, Restarts int // runs; how often the server ended by itself; how often of these at a start

	Fates map[string]map[string]int // tasks by the answers that they had and by their last state
	Wrong []string                  // tasks with a last state that contradicts the replies, with their history
}

// JudgeDisk judges one run. It is a pure function of the logs.
func JudgeDisk(e DiskEvidence) DiskVerdict {
	tasks := map[string][]DiskRequest{}
	for _, q := range e.Requests {
		tasks[q.Name] = append(tasks[q.Name], q)
	}
	e.Accepted, e.Cancelled = promises(tasks)
	v := DiskVerdict{Verdict: Check(e.Evidence), Fates: map[string]map[string]int{}}
	arrivals := map[string]int{}
	for _, a := range e.Arrived {
		arrivals[a.Name]++
	}
	records := map[string]DiskRecord{}
	for _, r := range e.Records {
		records[r.Name] = r
	}
	for name, requests := range tasks {
		record, found := records[name]
		if !found {
			record.State = MissingTask
		}
		if record.State == "delivered" && arrivals[name] == 0 {
			record.State = unsentTask
		}
		group, fates := expectedFates(requests)
		if v.Fates[group] == nil {
			v.Fates[group] = map[string]int{}
		}
		v.Fates[group][record.State]++
		if !slices.Contains(fates, record.State) || record.State != MissingTask && record.Patch < answeredPatch(requests) {
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s: %s: %+v, %d callbacks, after %+v", group, name, record, arrivals[name], requests))
		}
	}
	slices.Sort(v.Wrong)
	return v
}

// promises derives the input of check from the requests.
func promises(tasks map[string][]DiskRequest) (made []Accepted, cancels []Cancelled) {
	for name, requests := range tasks {
		first := requests[0]
		if first.Status/100 != 2 {
			continue
		}
		due := first.Due // or that of a patch, which may have been carried out
		for _, q := range requests {
			if q.Op == PatchTask && q.Due.Before(due) {
				due = q.Due
			}
			if q.Op == CancelTask && !q.Unsent {
				cancels = append(cancels, Cancelled{Name: name, Status: q.Status, At: q.At})
			}
		}
		made = append(made, Accepted{Name: name, Due: due, At: first.At})
	}
	return made, cancels
}

// expectedFates returns the line of the table for a task with these requests,
// and the states that the task may have at the end.
func expectedFates(requests []DiskRequest) (group string, fates []string) {
	first := requests[0]
	switch {
	case first.unclear():
		return "create " + first.answer(), []string{"delivered", MissingTask}
	case first.Status/100 != 2:
		return "create " + first.answer(), []string{MissingTask}
	}
	last := requests[len(requests)-1]
	if last.Op != CancelTask {
		return "accepted, no cancel", []string{"delivered"}
	}
	group = "accepted, cancel " + last.answer()
	switch {
	case last.unclear(), last.Status == 202: // an attempt was under way
		return group, []string{"cancelled", "delivered"}
	case last.Status == 200:
		return group, []string{"cancelled"}
	}
	return group, []string{"delivered"}
}

// answeredPatch returns the number of the last change that was answered.
func answeredPatch(requests []DiskRequest) (n int) {
	for _, q := range requests {
		if q.Op == PatchTask && q.Status/100 == 2 {
			n = q.Patch
		}
	}
	return n
}

// Add adds the verdict on other runs.
func (v *DiskVerdict) Add(o DiskVerdict) {
	v.Runs, v.Ended, v.Restarts = v.Runs+o.Runs, v.Ended+o.Ended, v.Restarts+o.Restarts
	v.Accepted, v.Arrived, v.Duplicates = v.Accepted+o.Accepted, v.Arrived+o.Arrived, v.Duplicates+o.Duplicates
	v.Lost, v.Early = append(v.Lost, o.Lost...), append(v.Early, o.Early...)
	v.AfterCancel, v.OtherID = append(v.AfterCancel, o.AfterCancel...), append(v.OtherID, o.OtherID...)
	v.Wrong = append(v.Wrong, o.Wrong...)
	if v.Fates == nil {
		v.Fates = map[string]map[string]int{}
	}
	for group, fates := range o.Fates {
		if v.Fates[group] == nil {
			v.Fates[group] = map[string]int{}
		}
		for fate, n := range fates {
			v.Fates[group][fate] += n
		}
	}
}
