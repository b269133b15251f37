package store

import (
	"sync/atomic"

	"github.com/foliot/foliot/internal/task"
)

// LatestTime is the largest time that a process has seen. It stays if the clock is
// set back. The zero value has seen none. Any goroutine may call its methods.
type LatestTime struct{ millis atomic.Int64 }

// See records a time.
func (l *LatestTime) See(now task.Millis) {
	for seen := l.millis.Load(); int64(now) > seen && !l.millis.CompareAndSwap(seen, int64(now)); seen = l.millis.Load() {
	}
}

// Since returns the largest time that was seen, at least now.
func (l *LatestTime) Since(now task.Millis) task.Millis {
	return max(now, task.Millis(l.millis.Load()))
}
