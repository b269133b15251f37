package kernel

import (
	"cmp"
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// EachDelta calls add for each count that changes when a record changes from old to t:
// the counts of its queues, and the number of unfinished occurrences of its schedule. old
// or t can be nil. A medium must write the deltas together with the record, so that
// counts and records agree.
func EachDelta(old, t *task.Task, add func(task.QueueKey, task.Counts)) {
	if key, change := task.Unfinished(old, t); change != 0 {
		var d task.Counts
		d.States[task.Scheduled] = change
		add(key, d)
	}
	if old != nil && t != nil && old.Queue != t.Queue {
		addDelta(old, nil, add)
		old = nil
	}
	if old != nil || t != nil {
		addDelta(old, t, add)
	}
}

// addDelta is EachDelta for the counts of one queue.
func addDelta(old, t *task.Task, add func(task.QueueKey, task.Counts)) {
	var d task.Counts
	d.Move(old, t)
	in := cmp.Or(t, old)
	add(task.QueueKey{Namespace: in.Namespace, Queue: in.Queue}, d)
}

// Tally holds the counts of records by queue, without an entry for a queue whose counts
// are all zero.
type Tally map[task.QueueKey]task.Counts

// Move counts the change of a record from old to now, either of them nil for no
// record.
func (t Tally) Move(old, now *task.Task) { EachDelta(old, now, t.Add) }

// Add adds d to the counts of a queue.
func (t Tally) Add(key task.QueueKey, d task.Counts) {
	n := t[key]
	n.Add(d)
	if t[key] = n; n == (task.Counts{}) {
		delete(t, key)
	}
}

// FoundCounts returns the sentence of a store.Repair of the counts of a queue. lost is
// the number of records that are counted but missing. They were lost after they were
// written, because a record and its count are written together.
func FoundCounts(key task.QueueKey, lost int64) string {
	switch {
	case key.OfOccurrences():
		return fmt.Sprintf("the number of unfinished tasks of schedule %q was wrong", key.Queue[1:])
	case lost > 0:
		return fmt.Sprintf("%d confirmed tasks of queue %q are lost: the queue has fewer records than were counted; restore a backup", lost, key.Queue)
	}
	return fmt.Sprintf("the counts of queue %q were wrong", key.Queue)
}

// FoundMissing is the sentence of a store.Repair of a record without a valid entry in
// an index.
var FoundMissing = [...]string{
	ByDue:       "it had no entry in the due index, and would never have fired",
	ByLease:     "it had no valid entry among the running tasks, and would have been stuck if its attempt was lost",
	DeadByEnd:   "it had no entry among the dead tasks, and would not have been listed with those that ended last",
	DoneByEnd:   "it had no entry among the finished tasks, and would not have been listed with those that ended last",
	ByRetention: "it had no valid entry among the ended tasks, and would never have been swept",
}
