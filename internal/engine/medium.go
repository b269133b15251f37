package engine

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
	// Open opens the store, and waits until ctx ends if the medium is not ready.
	Open(ctx context.Context, c StoreConfig) (*Opened, error)
}

// StoreConfig holds the settings that all media have.
type StoreConfig struct {
	Keep      task.Policy   // how long ended tasks are kept
	AuditKeep time.Duration // how long entries of the audit log, and records of ended tokens, are kept

	// OnReap is called, by Open too, with tasks after their lost leases were
	// removed.
	OnReap  func(left []*task.Task)
	OnFatal func(error)                      // called at most once, if the medium has failed for good
	OnSync  func(d time.Duration, steps int) // called after a sync of the disk that took d and wrote steps changes
	Logger  *slog.Logger
}

// Opened is an open store, with its clocks and its optional functions.
type Opened struct {
	Store store.Store

	// Clock reads the clock that decides when tasks are due, for Node.Now.
	Clock func() time.Time
	// Latest reads the same clock for times that count from a request, such as
	// a delay. If the clocks of servers differ, or a clock is not known exactly,
	// it returns the latest possible time, so that no delay is shortened. If a
	// medium leaves it nil, the node uses Clock.
	Latest func() time.Time
	// Trusted is the time for decisions that cannot be undone, such as expiry;
	// see package trustedclock. If a medium leaves it nil, the node derives it
	// from Clock.
	Trusted func() time.Time

	// ReapEvery and Gather have the meaning that dispatch.Config gives them.
	ReapEvery, Gather time.Duration

	Copy    func(context.Context, io.Writer) error // writes a backup of the store; nil if it has no files
	Inspect func(context.Context) []wire.Finding   // examines the disk or the servers of the store; nil if it has neither
	Join    func()                                 // makes this process run tasks of a shared store; nil if it runs them without Join
	Release func()                                 // leaves the tasks that this process has not started to other processes; nil if the store is not shared
}
