package task

// Key names a task, with a name that is unique in its namespace for as long as
// the record is kept.
type Key struct {
	Namespace string
	Name      string
}

// DefaultNamespace is the namespace of requests that name none.
const DefaultNamespace = "default"

// DefaultQueue is the queue of a task that names none.
const DefaultQueue = "default"

// Lane identifies tasks that are limited, paused or blocked together, and are
// therefore indexed and read together. The tasks of a destination that does not
// reply fill only its own lanes.
type Lane struct {
	Namespace   string
	Queue       string
	Priority    Priority
	Destination string // host:port in one spelling
}

// LaneHead is a lane and a lower bound of its earliest due time.
type LaneHead struct {
	Lane Lane
	Due  Millis
}

// Entry is a scheduled task as its lane's index shows it: only a hint, because
// the record decides, at the claim.
type Entry struct {
	Name string
	Lane Lane
	Due  Millis
	Hint hintKind // the event for which a store calls its watcher with the entry; Waits in all other uses
}

// hintKind is the kind of event that an entry reports to a store.Watcher.
type hintKind uint8

// The kinds of hints.
const (
	Waits           hintKind = iota // the task waits for its due time, which can have changed
	OccurrenceEnded                 // an occurrence of the schedule has ended; the entry has no due time
	CancelRequested                 // the task was cancelled during an attempt; the entry has no due time
)

// Key returns the key of the entry's task.
func (e Entry) Key() Key { return Key{Namespace: e.Lane.Namespace, Name: e.Name} }

// Position is a place in a lane's order, by due time, then by name; the zero
// Position is before all entries.
type Position struct {
	Due  Millis
	Name string
}

// Position returns the entry's place in its lane.
func (e Entry) Position() Position { return Position{Due: e.Due, Name: e.Name} }

// Less reports whether p comes before o.
func (p Position) Less(o Position) bool {
	if p.Due != o.Due {
		return p.Due < o.Due
	}
	return p.Name < o.Name
}
