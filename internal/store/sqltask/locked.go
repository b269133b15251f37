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
	mu    sync.Mutex // guards everything below
	tasks map[task.Key]locked
	swept time.Time
}

type locked struct{ first, last time.Time } // when it was tried

// Remembered is how long a Locked has a task.
const Remembered = 10 * time.Second

// Add adds a task.
func (l *Locked) Add(k task.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.tasks == nil {
		l.tasks = map[task.Key]locked{}
	}
	if now.Sub(l.swept) > Remembered {
		maps.DeleteFunc(l.tasks, func(_ task.Key, t locked) bool { return now.Sub(t.last) > Remembered })
		l.swept = now
	}
	t, is := l.tasks[k]
	if !is {
		t.first = now
	}
	t.last = now
	l.tasks[k] = t
}

// Has reports whether a task was added within Remembered.
func (l *Locked) Has(k task.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, is := l.tasks[k]
	return is && time.Since(t.last) < Remembered
}

// The time between two tries of a task is as long as it has been locked, within these bounds.
// A dispatcher may offer the task only 250 ms later.
const rare, often = 700 * time.Millisecond, 200 * time.Millisecond

// Rests reports whether it is too early to try a task again.
func (l *Locked) Rests(k task.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, is := l.tasks[k]
	return is && time.Since(t.last) < min(max(t.last.Sub(t.first), often), rare)
}

// Drop forgets tasks after the transaction that changed them has ended.
func (l *Locked) Drop(entries []task.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		delete(l.tasks, e.Key())
	}
}
