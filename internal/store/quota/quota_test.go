package quota

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// The sums show the time before some changes of this node. These count once, also if the
// servers' clock steps.
func TestChangesSinceTheSumsCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written, counted, age := 0, int64(0), time.Duration(0)
		of := settings.NewSettings(&settings.NamespaceSettings{Name: "default", MaxPending: 100})
		q := Quotas{Settings: func() *settings.Settings { return of }}
		q.Sums = func(context.Context) (map[string]task.Counts, time.Duration, bool) {
			var c task.Counts
			c.States[task.Scheduled] = counted
			return map[string]task.Counts{"default": c}, age, true
		}
		one := &task.Task{Namespace: "default", State: task.Scheduled}
		q.usageLocked("default")
		write := func(n int) {
			for range n {
				q.Commit("default", nil, one, false)
			}
			written += n
		}
		write(1)
		time.Sleep(time.Millisecond)
		counted = 1 // the owner counts now
		at := time.Now()
		time.Sleep(time.Millisecond)
		write(9) // in the same part of recent
		time.Sleep(100 * time.Millisecond)
		write(5)
		for range 3 {
			age = time.Since(at)
			q.have["default"].fresh = time.Time{}
			fatal.If(t, q.Refresh(t.Context(), "default"))
			// The part that the owner counted in the middle of counts twice for a while.
			if n := q.have["default"].counts.States[task.Scheduled]; n < int64(written) || n > int64(written)+1 {
				t.Errorf("%d of %d are counted", n, written)
			}
			time.Sleep(time.Second)
			counted, at = int64(written), time.Now()
			time.Sleep(time.Millisecond)
		}
	})
}
