package kernel

import (
	"sync"

	"github.com/foliot/foliot/internal/task"
)

// Claimed keeps the records of tasks as this node's claims left them, so the
// settlements that follow need not read them. An outdated record does no harm,
// because a write compares.
type Claimed[R any] struct {
	mu sync.Mutex
	m  map[task.Key]R
}

// Get is a Medium's Guess.
func (c *Claimed[R]) Get(k task.Key) (R, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.m[k]
	return r, ok
}

// Set keeps the record of a task that was claimed.
func (c *Claimed[R]) Set(k task.Key, r R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[task.Key]R{}
	}
	c.m[k] = r
}

// Drop forgets the record of a task whose claim has ended or changed.
func (c *Claimed[R]) Drop(k task.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, k)
}
