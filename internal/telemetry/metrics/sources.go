package metrics

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Sources provide values during a scrape. One goroutine calls them for each scrape,
// but several scrapes can run at once. If a function is nil, its metrics are
// missing, and the context of a call ends after a few seconds.
type Sources struct {
	Counts      func(context.Context) (map[task.QueueKey]task.Counts, error) // store.SettingsStore's
	Index       Index                                                        // store.DispatchStore's
	Now         func() time.Time                                             // the clock that decides when tasks in Index are due; default: time.Now
	Dispatch    func() Dispatch
	Disk        func() (Disk, error)
	Connections func() int // open connections of API clients
	Certificate func() Certificate
	Breakers    func() int // destinations that are not called now
	Spans       func() Spans
	Standing    func() store.Standing // nil: the store has one node
}

// Index is the part of store.DispatchStore that finds overdue tasks.
type Index interface {
	store.Lanes
	Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error)
}

// Dispatch is a snapshot of the dispatcher: present values, and counters since
// its start.
type Dispatch struct {
	Running, Slots       int // attempts under way, and their limit
	WindowTasks          int // tasks and lanes in the near window
	WindowLanes          int
	Granted              uint64 // claims, by result
	Expired, Moved, Gone uint64
	Fired                uint64 // instants of schedules that created a task
	Skipped              Skipped
}

// Skipped counts instants of schedules that created no task, by reason.
type Skipped struct{ Misfire, Window, Limit, Quota, Overlap uint64 }

// Disk is the disk usage of the store, in bytes.
type Disk struct {
	Used       uint64 // by the store
	Free, Size uint64 // of the file system
}

// Certificate is the state of the TLS certificate.
type Certificate struct {
	NotAfter time.Time // its expiry
	Broken   bool      // its files have changed, but cannot be used
}

// Spans counts the spans that tracing tried to export, by result.
type Spans struct{ Exported, Failed, Dropped uint64 }
