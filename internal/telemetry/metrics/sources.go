package metrics

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Sources are asked while a scrape is under way, by one goroutine each time,
// by several scrapes at once. Each may be nil: then its metrics are missing. They are
// given a few seconds.
type Sources struct {
	Counts      func(context.Context) (map[task.QueueKey]task.Counts, error) // task.Registry's
	Index       Index                                                        // task.Queue's
	Now         func() time.Time                                             // the clock by which what is in Index is due; default: time.Now
	Dispatch    func() Dispatch
	Disk        func() (Disk, error)
	Connections func() int // of API clients, open
	Certificate func() Certificate
	Breakers    func() int // destinations that are not called for now
	Spans       func() Spans
	Standing    func() task.Standing // task.Cluster's
}

// Index is the part of task.Queue that tells what is overdue.
type Index interface {
	Lanes(ctx context.Context, until task.Millis) ([]task.LaneHead, error)
	Peek(ctx context.Context, reads []task.LaneRead) ([][]task.Entry, error)
}

// Dispatch is a snapshot of the dispatcher: what is so now, and what was
// counted since it was built.
type Dispatch struct {
	Running, Slots       int // attempts under way; how many there may be
	WindowTasks          int // tasks and lanes in the near window
	WindowLanes          int
	Hints, Polls         uint64
	Granted              uint64 // claims, by what they found
	Expired, Moved, Gone uint64
	Fired                uint64 // instants of schedules that made a task
	Skipped              Skipped
}

// Skipped counts instants of schedules that made no task, by why.
type Skipped struct{ Misfire, Window, Limit, Quota, Overlap uint64 }

// Disk is where the store lives, in bytes.
type Disk struct {
	Used       uint64 // by the store
	Free, Size uint64 // of the file system
}

// Certificate is what TLS shows to clients.
type Certificate struct {
	NotAfter time.Time // its end
	Broken   bool      // its files have changed, to something that is of no use
}

// Spans is what became of the spans that tracing was to export.
type Spans struct{ Exported, Failed, Dropped uint64 }
