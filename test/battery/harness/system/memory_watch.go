package system

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
)

// MemoryWatch samples the memory of a process during a measurement. End stops
// its goroutine and waits for it.
type MemoryWatch struct {
	stop context.CancelFunc
	done chan struct{}
	seen MemoryUse // used only by the goroutine until done is closed
}

// MemoryUse is the memory that a MemoryWatch has measured, in bytes.
type MemoryUse struct{ start, Peak, end int64 }

func (m MemoryUse) String() string {
	return fmt.Sprintf("%d MB at the start, %d at the peak, %d at the end", m.start>>20, m.Peak>>20, m.end>>20)
}

// WatchMemory starts to sample the memory of a process.
func WatchMemory(ctx context.Context, pid int) *MemoryWatch {
	ctx, stop := context.WithCancel(ctx)
	w := &MemoryWatch{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for more := true; more; more = timing.Pause(ctx, 100*time.Millisecond) {
			w.look(pid)
		}
	}()
	return w
}

func (w *MemoryWatch) look(pid int) {
	now, _, err := MemoryOf(pid)
	if err != nil {
		return // the process is gone: keep the figures so far
	}
	if w.seen.start == 0 {
		w.seen.start = now
	}
	w.seen.Peak, w.seen.end = max(w.seen.Peak, now), now
}

// End returns the figures. A second call is allowed.
func (w *MemoryWatch) End() MemoryUse {
	w.stop()
	<-w.done
	return w.seen
}
