package contender

import (
	"time"

	"github.com/foliot/foliot/bench/classic"
)

func openHeap(s *server) Timeouts {
	heap := classic.NewHeap()
	x := &handles[*classic.HeapTimer]{kept: make([]*classic.HeapTimer, len(s.conns)), close: heap.Close}
	x.add = func(i uint32) *classic.HeapTimer { return heap.Add(s.timeout, s.conns[i].end) }
	x.beat = func(t *classic.HeapTimer, i uint32) *classic.HeapTimer {
		heap.Remove(t)
		return x.add(i)
	}
	return x
}

func openTimeAdd(s *server) Timeouts {
	x := &handles[*time.Timer]{kept: make([]*time.Timer, len(s.conns)), close: func() {}}
	x.add = func(i uint32) *time.Timer { return time.AfterFunc(s.timeout, s.conns[i].end) }
	x.beat = func(t *time.Timer, i uint32) *time.Timer {
		t.Stop()
		return x.add(i)
	}
	return x
}

func openTimeReset(s *server) Timeouts {
	return &handles[*time.Timer]{
		kept: make([]*time.Timer, len(s.conns)),
		add:  func(i uint32) *time.Timer { return time.AfterFunc(s.timeout, s.conns[i].end) },
		beat: func(t *time.Timer, _ uint32) *time.Timer {
			t.Reset(s.timeout)
			return t
		},
		close: func() {},
	}
}
