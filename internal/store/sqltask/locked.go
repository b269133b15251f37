package sqltask

import (
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Locked are tasks that a claim found locked. They are not tried again for a moment,
// because a user can lock many tasks for long, and each try costs as much as a claim.
type Locked struct {
	mu    sync.Mutex // guards everything below
	keys  map[task.Key]bool
	began time.Time
}

// Add adds a task for which Has was called before.
func (l *Locked) Add(k task.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[k] = true
}

// Has reports whether a task was added, and forgets all tasks after a time.
func (l *Locked) Has(k task.Key, after time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.began) > after {
		l.keys, l.began = map[task.Key]bool{}, time.Now()
	}
	return l.keys[k]
}
