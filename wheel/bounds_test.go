package wheel

import (
	"testing"
	"testing/synctest"
	"time"
)

// An Extend that must take the lock must not undo a longer Extend that came
// between its first read and its move.
func TestExtendNeverMovesADeadlineBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder()
		w := New(Config{Shards: 1}, r.fire)
		id := w.Add(10*time.Second, 1)
		sh := w.shards[0]
		sh.mu.Lock()
		sh.ticks.reset(id.index(), sh.nodes.at(id.index()), 5000, false)
		sh.mu.Unlock()
		time.Sleep(time.Minute)
		if got := r.firings(); len(got) != 1 || got[0].at != 10*time.Second {
			t.Errorf("fired %v, want at 10s", got)
		}
	})
}
