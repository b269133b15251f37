package store

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/foliot/foliot/internal/history"
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
	history.Store

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

// Calls has the calls of a store under way, for which Close waits. So no call makes
// another one.
type Calls struct {
	Failure func(error) error // translates the error of a whole call for its caller
	Refuse  func() error      // returns why calls are not possible; nil means that they always are

	calls  sync.RWMutex // held for reading by every call, for writing by Close
	closed atomic.Bool  // written under calls
}

// Call makes a call, unless it is refused.
func Call[T any](ctx context.Context, c *Calls, do func() (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	c.calls.RLock()
	defer c.calls.RUnlock()
	if err := c.Err(); err != nil {
		return result, err
	}
	done, err := do()
	if err != nil {
		return result, c.Failure(err)
	}
	return done, nil
}

// Err returns why calls are refused, or nil.
func (c *Calls) Err() error {
	switch {
	case c.closed.Load():
		return task.ErrClosed
	case c.Refuse != nil:
		return c.Refuse()
	}
	return nil
}

// Close refuses all further calls, waits for those under way, and reports whether it is
// called for the first time.
func (c *Calls) Close() (first bool) {
	c.calls.Lock()
	defer c.calls.Unlock()
	return !c.closed.Swap(true)
}
