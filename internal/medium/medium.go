package medium

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Medium is a place that keeps tasks: a directory, a Redis, or the memory of
// the process.
type Medium interface {
	// Open opens the store. If the medium is not ready, Open waits for it until
	// ctx ends.
	Open(ctx context.Context, c Config) (*Opened, error)
}

// Config holds the settings of all media.
type Config struct {
	Keep      task.Policy   // how long ended tasks are kept
	AuditKeep time.Duration // how long entries of the audit log are kept

	// OnReap is called with tasks after their lost leases were removed. Open
	// can call it too.
	OnReap  func(left []*task.Task)
	OnFatal func(error)                      // called at most once, if the medium has failed for good
	OnSync  func(d time.Duration, steps int) // called after a sync of the disk that took d and wrote steps changes
	Logger  *slog.Logger
}

// Opened is an open store, with its clocks and its optional functions.
type Opened struct {
	Store store.Store

	// Now reads the clock that decides when tasks are due. Latest returns the
	// latest time that the clock can have, for times that count from a request.
	// Trusted returns the time for decisions that cannot be undone. If Latest
	// or Trusted is nil, the node derives it from Now.
	Now, Latest, Trusted func() time.Time

	// ReapEvery and Gather have the meaning that dispatch.Config gives them.
	ReapEvery, Gather time.Duration

	Backup  func(context.Context, io.Writer) error // copies the store; nil if it has no files
	Examine func(context.Context) []wire.Finding   // examines the disk or the servers of the store; nil if it has neither
	Join    func()                                 // makes this process run tasks of a shared store; nil if it runs them without Join
	Release func()                                 // leaves the tasks that this process has not started to other processes; nil if the store is not shared
}
