package metrics

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Sources provide values during a scrape. One goroutine calls them for each scrape,
// but several scrapes can run at once. If a function is nil, its metrics are
// missing, and the context of a call ends after a few seconds.
type Sources struct {
	Counts      func(context.Context) (map[task.QueueKey]task.Counts, error) // store.SettingsStore's
	Index       overdueIndex                                                 // store.DispatchStore's
	Now         func() time.Time                                             // the clock that decides when tasks in Index are due; default: time.Now
	Dispatch    func() dispatch.Stats
	Slots       int // the limit of dispatch.Stats.Running
	Disk        func() (Disk, error)
	Connections func() int                               // open connections of API clients
	Certificate func() (notAfter time.Time, broken bool) // of the TLS files: see httpserver.Certificates
	Spans       func() (exported, failed, dropped uint64)
	Standing    func() store.Standing // nil: the store has one node
}

// overdueIndex is the part of store.DispatchStore that finds overdue tasks.
type overdueIndex interface {
	store.Lanes
	Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error)
}

// Disk is the disk usage of the store, in bytes.
type Disk struct {
	Used       uint64 // by the store
	Free, Size uint64 // of the file system
}
