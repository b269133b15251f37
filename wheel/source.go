package wheel

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// source is the parent of deadlineCtx's Context, and visible to no other code.
// For a parent of an unknown type, package context starts a goroutine that
// waits for it. If the parent has a method AfterFunc, package context calls
// that instead, so source has this method. source is also the action of the
// timer.
type source struct {
	timer  Timer
	parent context.Context // immutable
	at     time.Time       // immutable
	hook   func()          // cancels the child; set before the timer is armed, then immutable

	// over is set once, under the timer's lock, before hook is called. Err and
	// Value read it without the lock.
	over  atomic.Pointer[ending]
	watch watch // of parent; guarded by the timer's lock
}

// watch ends the watch of the parent. It may be nil, or call user code.
type watch func() (stopped bool)

func (w watch) end() {
	if w != nil {
		w()
	}
}

// ending is how a source ended.
type ending struct {
	err   error
	cause context.Context // has ended with the cause to report; nil: report the parent's cause
}

var (
	atDeadline = newEnding(context.DeadlineExceeded, context.DeadlineExceeded)
	asClosed   = newEnding(context.Canceled, ErrClosed)
	asFull     = newEnding(context.Canceled, ErrFull)
)

func newEnding(err, cause error) ending {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ending{err: err, cause: ctx}
}

// neverDone is the Done channel of every source. context.WithCancel only checks
// if it is nil or closed, and if it is the channel of the innermost cancellable
// context. AfterFunc does the rest.
var neverDone = make(chan struct{})

func (s *source) Deadline() (time.Time, bool) { return s.at, true }
func (s *source) Done() <-chan struct{}       { return neverDone }

func (s *source) Err() error {
	if over := s.over.Load(); over != nil {
		return over.err
	}
	return nil
}

// Value returns the parent's value. But context.Cause, which searches for the
// innermost context with a cause, finds the source's own cause.
func (s *source) Value(key any) any {
	if over := s.over.Load(); over != nil && over.cause != nil {
		if v := over.cause.Value(key); v != nil {
			return v
		}
	}
	return s.parent.Value(key)
}

// AfterFunc is called once, by context.WithCancel. f cancels the child, which
// calls stop when its user cancels it.
func (s *source) AfterFunc(f func()) (stop func() bool) {
	s.hook = f
	return s.stop
}

func (s *source) stop() bool {
	s.timer.mu.Lock()
	first := s.over.Load() == nil
	w := s.endLocked()
	s.timer.mu.Unlock()
	w.end()
	return first
}

// start arms the timer and watches the parent.
func (s *source) start(left time.Duration, wall bool) {
	if err := s.arm(left, wall); err != nil {
		s.refuse(err)
		return
	}
	if s.parent.Done() == nil {
		return
	}
	w := watch(context.AfterFunc(s.parent, s.parentDone))
	s.timer.mu.Lock()
	if s.over.Load() == nil {
		s.watch, w = w, nil
	}
	s.timer.mu.Unlock()
	w.end() // it is over already
}

func (s *source) arm(left time.Duration, wall bool) error {
	s.timer.mu.Lock()
	defer s.timer.mu.Unlock()
	if wall {
		return s.timer.armAtLocked(s.at)
	}
	return s.timer.armLocked(left)
}

// finish ends the source, if it has not ended before, and returns after the
// child has been cancelled, by this call or another.
func (s *source) finish(e *ending) {
	s.timer.mu.Lock()
	s.over.CompareAndSwap(nil, e)
	w := s.endLocked()
	s.timer.mu.Unlock()
	s.hook() // if another call is in progress, this one waits for it
	w.end()
}

func (s *source) endLocked() watch {
	s.timer.disarmLocked()
	w := s.watch
	s.watch = nil
	return w
}

func (s *source) parentDone() { s.finish(&ending{err: s.parent.Err()}) }

func (s *source) refuse(err error) {
	if errors.Is(err, ErrFull) {
		s.finish(&asFull)
		return
	}
	s.finish(&asClosed)
}

func (s *source) direct() bool { return true }

// fire starts a goroutine, as package context has one for each deadline: there
// may be very many derived contexts, and the parent may be busy.
func (s *source) fire(t *Timer, id ID) {
	if t.take(id) {
		go s.finish(&atDeadline)
	}
}

func (s *source) lost(t *Timer, id ID, cause error) {
	if t.take(id) {
		s.refuse(cause)
	}
}
