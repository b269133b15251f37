package task

import (
	"cmp"
	"fmt"
	"slices"
)

// State is the state of a task, a number that is part of the disk format.
type State uint8

// The states. The zero State is no state: a record that lacks one is damaged.
const (
	Scheduled State = 1 + iota // waits for its due time
	Running                    // an attempt holds its lease
	Delivered                  // a 2xx arrived
	Cancelled                  // its client cancelled it
	Expired                    // expire_after passed before an attempt could start
	Dead                       // has no more attempts, and can be retried until its retention ends
)

var stateNames = [...]string{
	Scheduled: "scheduled", Running: "running", Delivered: "delivered",
	Cancelled: "cancelled", Expired: "expired", Dead: "dead",
}

// Live reports whether the task is scheduled or running.
func (s State) Live() bool { return s == Scheduled || s == Running }

// Finished reports whether the task ended for good: delivered, cancelled or expired.
func (s State) Finished() bool { return s == Delivered || s == Cancelled || s == Expired }

// Valid reports whether s is one of the states above.
func (s State) Valid() bool { return s >= Scheduled && s <= Dead }

// String returns the state's word, as it stands in JSON and on the command line.
func (s State) String() string {
	if !s.Valid() {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// ParseState is the inverse of String.
func ParseState(word string) (State, bool) {
	i := slices.Index(stateNames[:], word)
	return State(max(i, 0)), i > 0
}

// finish ends t for good. It keeps the record and the last attempts, which explain a
// delay, but only the last attempt's reply, and the body only if the queue keeps
// bodies.
func (t *Task) finish(now Millis, s State, reason string, p Policy) {
	t.end(now, s, reason)
	t.KeepUntil = now.Add(p.KeepFinished)
	if t.Whole = p.KeepBodies; !t.Whole {
		t.Request.Body, t.Request.BodySize, t.Request.BodyKind = nil, 0, NoBody
	}
	for i := range len(t.History) - 1 {
		t.History[i].Reply = ""
	}
}

// cancelReason returns the reason of a task that was cancelled while it ran.
func (t *Task) cancelReason() string { return cmp.Or(t.Reason, ReasonCancelled) }

// EndReason returns why t is dead, expired or cancelled, and "" for any other
// state. A task that was cancelled while running has no end reason yet, because
// it can still be delivered.
func (t *Task) EndReason() string {
	if t.State == Running {
		return ""
	}
	return t.Reason
}

// endDead makes t dead, with a record that keeps everything, so that it can be
// retried.
func (t *Task) endDead(now Millis, reason string, p Policy) {
	t.end(now, Dead, reason)
	t.KeepUntil = now.Add(p.KeepDead)
}

func (t *Task) end(now Millis, s State, reason string) {
	t.State, t.Reason, t.FinishedAt = s, reason, now
	t.CancelRequested, t.RunNow = false, false
}

// Priority orders the lanes of a queue: among due tasks, a lane of higher
// priority goes first. The numbers are part of the disk format and the order of
// its keys, so the highest priority has the smallest number.
type Priority uint8

// The priorities. The zero value is High on disk, so a Spec must name one;
// DefaultSpec has Normal.
const (
	High Priority = iota
	Normal
	Low

	// RunNow is the priority of lanes of tasks that were run by hand, and Quarantine
	// that of lanes of tasks that may crash the process: see Task.Lane. No task has
	// these priorities, and no client can request them.
	RunNow
	Quarantine
)

var priorityNames = [...]string{High: "high", Normal: "normal", Low: "low", RunNow: "urgent", Quarantine: "quarantine"}

// Valid reports whether p is a priority that a task can have.
func (p Priority) Valid() bool { return p <= Low }

// String returns the priority's word.
func (p Priority) String() string {
	if int(p) >= len(priorityNames) {
		return fmt.Sprintf("Priority(%d)", uint8(p))
	}
	return priorityNames[p]
}

// ParsePriority is the inverse of String.
func ParsePriority(word string) (Priority, bool) {
	i := slices.Index(priorityNames[:Low+1], word)
	return Priority(max(i, 0)), i >= 0
}
