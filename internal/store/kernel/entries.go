package kernel

import (
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// Index is an index of tasks.
type Index uint8

// The indexes. In an index by end, a medium orders the entries by namespace, and then by
// task.EndedPlace.
const (
	ByDue       Index = iota // tasks that wait, by lane and due time
	ByLease                  // running tasks, by the end of the lease
	DeadByEnd                // dead tasks, by their end
	DoneByEnd                // finished tasks, by their end
	ByRetention              // ended tasks, by the end of their retention
	ByName                   // all records, by namespace and name. EntriesOf leaves it out, because a medium may list the records themselves
)

// Entry is the entry of a task in an index.
type Entry struct {
	Index Index
	At    task.Millis
}

// EntriesOf returns the index entries of t, at most one for each index, and none if t is
// nil. A medium writes a record together with its entries, and keeps exactly the entries
// that EntriesOf returns. EntriesOf can be inlined, so a caller that does not keep the
// entries allocates nothing.
func EntriesOf(t *task.Task) []Entry { return appendEntries(make([]Entry, 0, maxEntries), t) }

// maxEntries is the largest number of entries of a record.
const maxEntries = 2

func appendEntries(dst []Entry, t *task.Task) []Entry {
	switch {
	case t == nil:
		return dst
	case t.State == task.Scheduled:
		return append(dst, Entry{ByDue, t.Due})
	case t.State == task.Running:
		return append(dst, Entry{ByLease, t.Lease.Until})
	case t.State == task.Dead:
		return append(dst, Entry{DeadByEnd, t.FinishedAt}, Entry{ByRetention, t.KeepUntil})
	}
	return append(dst, Entry{DoneByEnd, t.FinishedAt}, Entry{ByRetention, t.KeepUntil})
}

// endIndexes returns the indexes with the tasks in these states by their ends.
func endIndexes(states []task.State) (indexes []Index) {
	for _, s := range states {
		in := DoneByEnd
		if s == task.Dead {
			in = DeadByEnd
		}
		if !slices.Contains(indexes, in) {
			indexes = append(indexes, in)
		}
	}
	return indexes
}
