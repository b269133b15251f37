package store

import (
	"github.com/foliot/foliot/internal/task"
)

// Store keeps tasks. Each consumer takes only the parts it needs. All methods
// can be called by many goroutines; time is always an argument.
//
// A nil error means that the change or the state returned is durable at the
// level that Durability names, or at the level in the Reply if that is lower. A
// call that fails as a whole (the context ended, the medium failed, ErrClosed)
// may or may not have been applied; repeating it is safe. After Close every
// method returns ErrClosed.
type Store interface {
	TaskStore
	LeaseStore
	SettingsStore
	Scrubber

	// Durability returns the level that a nil error of a mutation means:
	// "memory", "synced", .... A Reply reports if a change reached a lower
	// level.
	Durability() string

	// Err returns nil while the store works, and otherwise the reason why it
	// does not: ErrUnavailable if the failure may end by itself, ErrStoreUnfit
	// if the store accepts no new tasks until its servers are configured as
	// before. With any other error the store has stopped for good.
	Err() error

	// Close waits for calls under way and releases the medium. It may be called
	// twice.
	Close() error
}

// Reply is the result of one item of a batch.
type Reply struct {
	task.Result
	Err error

	// Durability is the level that the change reached, if that is lower than
	// the level that the store's Durability names. Otherwise it is "".
	Durability string
}
