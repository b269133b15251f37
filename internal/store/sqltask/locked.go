package sqltask

import (
	"maps"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Locked are tasks that another transaction had locked. A user can lock many for long, and
// each try costs as much as a write, so others must not be written with them.
type Locked struct {
	mu    sync.Mutex             // guards everything below
	keys  map[task.Key]time.Time // when they were locked last
	swept time.Time
}

// Remembered is how long a Locked has a task.
const Remembered = 10 * time.Second

// Add adds a task.
func (l *Locked) Add(k task.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.keys == nil {
		l.keys = map[task.Key]time.Time{}
	}
	if now.Sub(l.swept) > Remembered {
		maps.DeleteFunc(l.keys, func(_ task.Key, at time.Time) bool { return now.Sub(at) > Remembered })
		l.swept = now
	}
	l.keys[k] = now
}

// Has reports whether a task was added within the last d.
func (l *Locked) Has(k task.Key, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, is := l.keys[k]
	return is && time.Since(at) < d
}
