package wheel

import (
	"context"
	"fmt"
	"time"
)

// WithTimeout returns a context derived from parent. As in package context, it
// is done when d has passed (with context.DeadlineExceeded), when it is
// cancelled, or when parent is done. If d ≤ 0, it is done from the start.
// Cancelling it removes its timer at once, and contexts derived from it,
// directly or indirectly, need no extra goroutine. WithTimeout panics if parent
// is nil.
//
// If the Timers is full, is closed, or is closed later, the context is
// cancelled at that moment, so no deadline is ever unwatched. Its error is
// context.Canceled, and its cause (context.Cause) is ErrFull or ErrClosed.
//
// The methods of the context see immediately that parent is done, but a
// goroutine that waits for its channel is woken slightly later, by a goroutine
// that each context starts for this. If very many contexts have one parent that
// is cancelled as a whole, package context is better.
func (t *Timers) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return t.withDeadline(parent, time.Now().Add(d), d, false)
}

// WithDeadline is WithTimeout for a time instead of a delay. There are three
// cases:
//
//   - If parent has an earlier deadline, that deadline holds, and the result is
//     that of context.WithCancel.
//   - If at has a monotonic reading, as a time computed from time.Now has, the
//     deadline is measured on the monotonic clock, as in package context.
//   - Otherwise the deadline is a time of the wall clock. If that clock is
//     stepped, or the machine is suspended, the context follows within 30 s.
//     Package context would not follow.
func (t *Timers) WithDeadline(parent context.Context, at time.Time) (context.Context, context.CancelFunc) {
	if at != at.Round(0) { // which strips the monotonic reading
		return t.withDeadline(parent, at, time.Until(at), false)
	}
	at = atMostLatest(at)
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

// deadlineCtx is the context of WithTimeout. It embeds a context made by
// context.WithCancel, which package context finds through Value. So derived
// contexts become children of the embedded one, and need no goroutine.
type deadlineCtx struct {
	context.Context
	source source
}

// follow cancels the context if parent is done, and reports whether it is. The
// goroutine that watches parent would do the same, but later.
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
