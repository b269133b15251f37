package foliot

import (
	"context"
	"sync"
)

// callbacks calls functions of the program one after the other, so that a slow
// one delays no attempt and no lease.
type callbacks struct {
	some chan struct{} // has an element if waiting is not empty

	mu      sync.Mutex // guards waiting
	waiting []func()
}

func (c *callbacks) add(call func()) {
	c.mu.Lock()
	c.waiting = append(c.waiting, call)
	c.mu.Unlock()
	select {
	case c.some <- struct{}{}:
	default:
	}
}

func (c *callbacks) take() []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.waiting
	c.waiting = nil
	return calls
}

// run makes the calls until ctx ends, and then those that are left.
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
