package store

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// ClaimFor is how long a claim holds without an extension, unless a test sets
// another time.
const ClaimFor = 15 * time.Second

// DispatchStore is the part of a store that dispatch uses. Its now is the clock
// rounded down (FloorMillis), so no claim is early.
type DispatchStore interface {
	Steps

	// LanePages returns the lanes that have, or may have, a scheduled task due at
	// or before until, in pages for each namespace, so that no call costs more
	// than the pages it requests. It returns one page for each read, without I/O.
	// The heads are in no order, and a lane can be named more than once. The pages
	// from the zero LaneCursor to Last name each lane that has a task due at or
	// before until throughout. A lane that is added during the read may be
	// missing.
	LanePages(ctx context.Context, until task.Millis, reads []LanePageRead) ([]LanePage, error)

	// Peek reads lanes' indexes without taking anything: for each read, its
	// entries in order.
	Peek(ctx context.Context, reads []LaneRead) ([][]task.Entry, error)

	// Sweep removes at most limit records of tasks and of the audit log whose
	// retention ended at or before now, and returns their number. The audit log is
	// removed from its oldest entry on, so an entry that must stay keeps those
	// after it.
	Sweep(ctx context.Context, now task.Millis, limit int) (int, error)

	// Watch sets the functions of w, which replace those of earlier calls, until
	// stop removes them.
	Watch(w Watcher) (stop func())
}

// LanePageRead requests a page of the lanes of a namespace.
type LanePageRead struct {
	Namespace string     // empty: the namespaces that have, or may have, a scheduled task, as one head each, without a due time
	From      LaneCursor // zero: the first page
	Limit     int        // about how many lanes the call examines
}

// LanePage is a page of the lanes of a namespace.
type LanePage struct {
	Heads []task.LaneHead
	Next  LaneCursor // the beginning of the next page, valid unless Last
	Last  bool       // there is no further page
}

// LaneCursor is a position among the lanes of a namespace, which only the store
// that made it can read.
type LaneCursor struct{ Shard, Left int }

// LaneRead requests a part of a lane.
type LaneRead struct {
	Lane  task.Lane
	After task.Position // exclusive; zero means from the start
	Until task.Millis   // inclusive
	Limit int
}
