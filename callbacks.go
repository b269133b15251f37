package foliot

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxCallbacks is the maximum number of waiting calls; further calls are
	// dropped.
	maxCallbacks = 10_000
	// callbackLimit is how long Run waits for the calls after its handlers have
	// ended.
	callbackLimit = 5 * time.Second
)

// callbacks calls functions of the program one after the other, outside the
// goroutines that deliver, so a slow function delays no attempt and no lease.
// Its methods can be called concurrently.
type callbacks struct {
	log  *slog.Logger
	some chan struct{} // capacity 1; has an element if waiting may have one

	mu       sync.Mutex // guards the fields below
	waiting  []callback
	current  string // the option of the latest call
	dropping bool   // calls were dropped since waiting was last empty
}

// callback is one call of the function of an option.
type callback struct {
	option string
	call   func()
}

// add appends a call for run, and does not wait for it.
func (c *callbacks) add(option string, call func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= maxCallbacks {
		if !c.dropping {
			c.dropping = true
			c.log.Error("too many calls of functions in Options wait: further calls are dropped until all have been made", "option", option, "slow", c.current, "waiting", len(c.waiting))
		}
		return
	}
	c.waiting = append(c.waiting, callback{option, call})
	select {
	case c.some <- struct{}{}:
	default:
	}
}

// next removes and returns the call that has waited longest, or reports false
// if no call waits.
func (c *callbacks) next() (b callback, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.dropping = false
		return callback{}, false
	}
	b = c.waiting[0]
	c.waiting[0] = callback{}
	c.waiting, c.current = c.waiting[1:], b.option
	return b, true
}

// run makes the calls until ctx ends, then those that still wait, and returns.
// If that takes too long, run drops the other calls and returns an error.
func (c *callbacks) run(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { defer close(ended); c.work(ctx) }()
	<-ctx.Done()
	select {
	case <-ended:
		return nil
	case <-time.After(callbackLimit):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	left := len(c.waiting)
	c.waiting = nil
	return fmt.Errorf("foliot: Options.%s has not returned %v after the end of the handlers, and %d more calls were dropped: the function must return", c.current, callbackLimit, left)
}

// work makes the calls until ctx has ended and no call waits.
func (c *callbacks) work(ctx context.Context) {
	for ended := false; !ended; {
		select {
		case <-c.some:
		case <-ctx.Done():
			ended = true
		}
		for b, ok := c.next(); ok; b, ok = c.next() {
			e := guard(func(*ending) { b.call() })
			switch {
			case e.panicked:
				c.log.Error("a function in Options panicked", "option", b.option, "panic", e.text, "stack", string(e.stack))
			case e.exited:
				c.log.Error("a function in Options called runtime.Goexit", "option", b.option)
			}
		}
	}
}
