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
	// Open opens the store. ctx ends the wait for a medium that is not ready.
	Open(ctx context.Context, c Config) (*Opened, error)
}

// Config holds the settings of all media.
type Config struct {
	Keep      task.Policy
	AuditKeep time.Duration

	OnReap  func(left []*task.Task)          // called with tasks after their lost leases were removed, also during Open
	OnFatal func(error)                      // called at most once, if the medium has failed for good
	OnSync  func(d time.Duration, steps int) // called after each sync of a disk; steps is the number of changes in it
	Logger  *slog.Logger
}

// Opened is an open store, and how it must be used.
type Opened struct {
	Store store.Store

	// Now reads the clock that decides when tasks are due. Latest returns the
	// latest time that the clock can have, for times that count from a request.
	// Trusted returns the time for decisions that cannot be undone. Nil Latest
	// and Trusted: they follow from Now.
	Now, Latest, Trusted func() time.Time

	// ReapEvery and Gather are those of dispatch.Config.
	ReapEvery, Gather time.Duration

	Backup  func(context.Context, io.Writer) error // copies the store; nil if it has no files
	Examine func(context.Context) []wire.Finding   // examines the servers of the store; nil if it has none
	Join    func()                                 // makes this process run tasks of a store that it shares; nil if it does so already
	Release func()                                 // leaves the tasks that this process has not started to others; nil if it shares none
}
