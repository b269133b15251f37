package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The operations of a diskRequest.
const (
	createTask = "create"
	patchTask  = "patch"
	cancelTask = "cancel"
)

const (
	missingTask = "missing"  // the state of a task that the store does not have
	unsentTask  = "unsent"   // the state of a task that the store calls delivered and no receiver got
	patchLabel  = "patch"    // the label that holds the number of a task's last change
	fullStore   = "capacity" // the code of a change that was refused before it was made
)

// diskRequest is a line of the client's log: a request and its answer.
type diskRequest struct {
	Name   string    `json:"name"`
	Op     string    `json:"op"`
	Due    time.Time `json:"due,omitzero"`    // of a create or a patch
	Patch  int       `json:"patch,omitempty"` // the number of a patch, from 1
	Status int       `json:"status"`          // 0: no whole answer came
	Code   string    `json:"code,omitempty"`  // of a problem
	Unsent bool      `json:"unsent,omitempty"`
	Error  string    `json:"error,omitempty"`
	Sent   time.Time `json:"sent"`
	At     time.Time `json:"at"` // when the answer was read, or the connection was cut
}

// unclear reports whether the request may have been carried out or not.
func (q diskRequest) unclear() bool {
	return !q.Unsent && q.Code != fullStore && (q.Status == 0 || q.Status >= 500)
}

// answer names the answer in a table.
func (q diskRequest) answer() string {
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

// diskRecord is the state of a task that the server showed at the end.
type diskRecord struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Patch    int    `json:"patch,omitempty"` // the last one in its record
	Reclaims int    `json:"reclaims,omitempty"`
}

// diskEvidence is all that the verdict on a full disk may look at. Accepted and Cancelled
// are derived from Requests.
type diskEvidence struct {
	evidence
	Requests []diskRequest
	Records  []diskRecord
}

// diskVerdict is the outcome of the tasks of some runs.
type diskVerdict struct {
	verdict
	Runs, Ended, Restarts int // runs; how often the server ended by itself, and how often of that at a start

	Fates map[string]map[string]int // tasks by the answers that they had and by their last state
	Wrong []string                  // tasks whose last state contradicts their answers, with their history
}

// judgeDisk judges one run. It is a pure function of the logs.
func judgeDisk(e diskEvidence) diskVerdict {
	tasks := map[string][]diskRequest{}
	for _, q := range e.Requests {
		tasks[q.Name] = append(tasks[q.Name], q)
	}
	e.Accepted, e.Cancelled = promises(tasks)
	v := diskVerdict{verdict: check(e.evidence), Fates: map[string]map[string]int{}}
	arrivals := map[string]int{}
	for _, a := range e.Arrived {
		arrivals[a.Name]++
	}
	records := map[string]diskRecord{}
	for _, r := range e.Records {
		records[r.Name] = r
	}
	for name, requests := range tasks {
		record, found := records[name]
		if !found {
			record.State = missingTask
		}
		if record.State == "delivered" && arrivals[name] == 0 {
			record.State = unsentTask
		}
		group, fates := expectedFates(requests)
		if v.Fates[group] == nil {
			v.Fates[group] = map[string]int{}
		}
		v.Fates[group][record.State]++
		if !slices.Contains(fates, record.State) || record.State != missingTask && record.Patch < answeredPatch(requests) {
			v.Wrong = append(v.Wrong, fmt.Sprintf("%s: %s: %+v, %d callbacks, after %+v", group, name, record, arrivals[name], requests))
		}
	}
	slices.Sort(v.Wrong)
	return v
}

// promises derives the input of check from the requests.
func promises(tasks map[string][]diskRequest) (made []accepted, cancels []cancelled) {
	for name, requests := range tasks {
		first := requests[0]
		if first.Status/100 != 2 {
			continue
		}
		due := first.Due // or that of a patch, which may have been carried out
		for _, q := range requests {
			if q.Op == patchTask && q.Due.Before(due) {
				due = q.Due
			}
			if q.Op == cancelTask && !q.Unsent {
				cancels = append(cancels, cancelled{Name: name, Status: q.Status, At: q.At})
			}
		}
		made = append(made, accepted{Name: name, Due: due, At: first.At})
	}
	return made, cancels
}

// expectedFates returns the line of the table for a task with these requests, and the states
// that it may have at the end.
func expectedFates(requests []diskRequest) (group string, fates []string) {
	first := requests[0]
	switch {
	case first.unclear():
		return "create " + first.answer(), []string{"delivered", missingTask}
	case first.Status/100 != 2:
		return "create " + first.answer(), []string{missingTask}
	}
	last := requests[len(requests)-1]
	if last.Op != cancelTask {
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
func answeredPatch(requests []diskRequest) (n int) {
	for _, q := range requests {
		if q.Op == patchTask && q.Status/100 == 2 {
			n = q.Patch
		}
	}
	return n
}

// add adds the verdict on other runs.
func (v *diskVerdict) add(o diskVerdict) {
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

// report prints the table and the promises.
func (v *diskVerdict) report(t *trial) {
	t.note("runs %d, the server ended %d times by itself, %d of them at a start on the full disk", v.Runs, v.Ended, v.Restarts)
	t.note("accepted %d, arrived %d, duplicates %d", v.Accepted, v.Arrived, v.Duplicates)
	for _, group := range slices.Sorted(maps.Keys(v.Fates)) {
		var fates []string
		for _, fate := range slices.Sorted(maps.Keys(v.Fates[group])) {
			fates = append(fates, fmt.Sprintf("%s %d", fate, v.Fates[group][fate]))
		}
		t.note("%-26s %s", group+":", strings.Join(fates, ", "))
	}
	t.must(v.Ended > 0, "the server met a full disk %d times", v.Ended)
	t.must(len(v.Lost) == 0, "lost %d%s", len(v.Lost), some(v.Lost))
	t.must(len(v.Early) == 0, "early %d%s", len(v.Early), some(v.Early))
	t.must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), some(v.AfterCancel))
	t.must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), some(v.OtherID))
	t.must(len(v.Wrong) == 0, "tasks whose state contradicts their answers: %d", len(v.Wrong))
	for _, w := range v.Wrong[:min(5, len(v.Wrong))] {
		t.note("%s", w)
	}
}
