package wheel

import (
	"context"
	"fmt"
	"time"
)

// WithTimeout returns a context derived from parent. It is done after d, then
// with the error context.DeadlineExceeded, or when it is cancelled or parent is
// done, as in package context. If d ≤ 0, it is done from the start. Cancelling
// it removes its timer at once. Contexts derived from it, also indirectly, need
// no goroutine to watch it.
//
// If there is no room for a timer, or the Timers is closed, now or later, the
// context is cancelled at once with the error context.Canceled and the cause
// (context.Cause) ErrFull or ErrClosed. So no deadline is ever unwatched.
//
// The methods of the context see immediately that parent is done. A goroutine
// that waits for its channel, or for a context that another package derived
// from it, is woken a moment later: by one goroutine for each context. If very
// many contexts have one parent that is cancelled as a whole, package context
// is better.
func (t *Timers) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return t.withDeadline(parent, time.Now().Add(d), d, false)
}

// WithDeadline is WithTimeout for a time. If at has a monotonic reading, as a
// time computed from time.Now has, it is a time of the monotonic clock.
// Otherwise it is a time of the wall clock: then the context follows that clock
// if it is stepped or the machine is suspended, which is noticed within 30 s.
// If parent has an earlier deadline, that deadline holds.
func (t *Timers) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	if at != at.Round(0) { // which strips the monotonic reading
		return t.withDeadline(parent, at, time.Until(at), false)
	}
	return t.withDeadline(parent, at, at.Sub(t.use().settings.wallNow()), true)
}

func (t *Timers) withDeadline(
	parent context.Context, at time.Time, left time.Duration, wall bool,
) (context.Context, context.CancelFunc) {
	if parent == nil {
		panic("wheel: cannot create context from nil parent")
	}
	if earlier, ok := parent.Deadline(); ok && earlier.Before(at) {
		return context.WithCancel(parent)
	}
	c := new(deadlineCtx)
	s := &c.source
	s.timer.wheel, s.timer.act = t.use(), s
	s.parent, s.at = parent, at
	var cancel context.CancelFunc
	c.Context, cancel = context.WithCancel(s)
	switch {
	case c.follow(): // if both are done, the parent was first
	case left <= 0:
		s.finish(&atDeadline)
	default:
		s.start(left, wall)
	}
	return c, cancel
}

// deadlineCtx is the context of WithTimeout. Its Context is made by
// context.WithCancel. So contexts that are derived from it find that one, by
// Value, and become its children, as if it were a context of that package.
type deadlineCtx struct {
	context.Context
	source source
}

// follow cancels the context if parent is done, and reports whether it is.
// Otherwise a goroutine notifies the source, a moment later.
func (c *deadlineCtx) follow() bool {
	err := c.source.parent.Err()
	if err == nil {
		return false
	}
	if c.Context.Err() == nil {
		c.source.finish(&ending{err: err})
	}
	return true
}

func (c *deadlineCtx) Deadline() (time.Time, bool) { return c.source.at, true }

func (c *deadlineCtx) Done() <-chan struct{} {
	c.follow()
	return c.Context.Done()
}

func (c *deadlineCtx) Err() error {
	c.follow()
	return c.Context.Err()
}

func (c *deadlineCtx) String() string {
	parent, at := c.source.parent, c.source.at
	name := fmt.Sprintf("%T", parent)
	if s, ok := parent.(fmt.Stringer); ok {
		name = s.String()
	}
	return fmt.Sprintf("%s.WithDeadline(%v [%v])", name, at, time.Until(at))
}
