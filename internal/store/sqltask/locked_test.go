package sqltask

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// A task that stays locked is tried five times in the first second and then once in 0.7 s,
// and at once after a transaction has changed it.
func TestALockedTaskIsTriedMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Locked
		k := tasktest.Key("a")
		tries := func(d time.Duration) (n int) {
			for range d / (50 * time.Millisecond) {
				if !l.Rests(k) {
					l.Add(k)
					n++
				}
				time.Sleep(50 * time.Millisecond)
			}
			return n
		}
		if first, later := tries(time.Second), tries(10*time.Second); first > 5 || first < 3 || later > 15 || later < 13 {
			t.Errorf("%d tries, then %d", first, later)
		}
		if l.Drop([]task.Entry{{Name: k.Name, Lane: task.Lane{Namespace: k.Namespace}}}); l.Rests(k) || l.Has(k) {
			t.Error("a changed task is still taken as locked")
		}
		l.Add(k)
		if time.Sleep(Remembered); l.Has(k) {
			t.Error("a task is remembered for too long")
		}
	})
}
