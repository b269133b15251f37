package foliot

import (
	"context"
	"sync"
)

// callbacks calls functions of the program one after the other, on the
// goroutine of run. So a slow function delays no attempt and no lease. Its
// methods can be called concurrently.
type callbacks struct {
	some chan struct{} // capacity 1; has an element if waiting may have one

	mu      sync.Mutex // guards waiting
	waiting []func()
}

// add appends a call for run, and does not wait for it.
func (c *callbacks) add(call func()) {
	c.mu.Lock()
	c.waiting = append(c.waiting, call)
	c.mu.Unlock()
	select {
	case c.some <- struct{}{}:
	default:
	}
}

// take returns the waiting calls, and removes them.
func (c *callbacks) take() []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.waiting
	c.waiting = nil
	return calls
}

// run makes the calls until ctx ends. Then it makes the calls that still wait,
// and returns.
func (c *callbacks) run(ctx context.Context) {
	for ended := false; !ended; {
		select {
		case <-c.some:
		case <-ctx.Done():
			ended = true
		}
		for _, call := range c.take() {
			call()
		}
	}
}
