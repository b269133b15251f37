package contender

import (
	"time"

	"github.com/foliot/foliot/bench/classic"
)

func openHeap(c conns) Timeouts {
	heap := classic.NewHeap()
	x := &handles[*classic.HeapTimer]{kept: make([]*classic.HeapTimer, len(c)), close: heap.Close}
	x.add = func(i uint32) *classic.HeapTimer { return heap.Add(timeout, c[i].end) }
	x.beat = func(t *classic.HeapTimer, i uint32) *classic.HeapTimer {
		heap.Remove(t)
		return x.add(i)
	}
	return x
}

func openTimeAdd(c conns) Timeouts {
	x := &handles[*time.Timer]{kept: make([]*time.Timer, len(c)), close: func() {}}
	x.add = func(i uint32) *time.Timer { return time.AfterFunc(timeout, c[i].end) }
	x.beat = func(t *time.Timer, i uint32) *time.Timer {
		t.Stop()
		return x.add(i)
	}
	return x
}

func openTimeReset(c conns) Timeouts {
	return &handles[*time.Timer]{
		kept: make([]*time.Timer, len(c)),
		add:  func(i uint32) *time.Timer { return time.AfterFunc(timeout, c[i].end) },
		beat: func(t *time.Timer, _ uint32) *time.Timer {
			t.Reset(timeout)
			return t
		},
		close: func() {},
	}
}
