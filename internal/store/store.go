package store

import (
	"github.com/foliot/foliot/internal/task"
)

// Store keeps tasks, and each consumer takes only the parts it needs. All
// methods can be called by many goroutines; time is always an argument.
//
// A nil error means that the change or the state returned is durable at the
// level that Standing names, or at the level in the Reply if that is lower. A
// call that fails as a whole (the context ended, the medium failed, ErrClosed)
// may or may not have been applied; repeating it is safe. After Close every
// method returns ErrClosed.
type Store interface {
	TaskStore
	DispatchStore
	SettingsStore
	Scrubber

	// Standing returns this process's view of the store, without I/O.
	Standing() Standing

	// Close waits for calls under way and releases the medium, and may be
	// called twice.
	Close() error
}

// Reply is the result of one item of a batch.
type Reply struct {
	task.Result
	Err error

	// Durability is the level that the change reached, if that is lower than
	// the level that Standing names, and otherwise "".
	Durability string
}
