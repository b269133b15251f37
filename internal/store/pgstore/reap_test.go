package pgstore

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// An idle node goes on to look for leases that end later. A look sees a lease that was written
// some seconds after its end.
func TestReapFindsALaterLeaseOfAnIdleNodeAndALateOne(t *testing.T) {
	server := pgtest.New(t)
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s := openNodes(t, server.URL(), "a")[0]
	claim := func(name string, ends time.Duration) task.Millis {
		t.Helper()
		now := task.CeilMillis(s.Latest())
		spec := tasktest.Spec(name, now)
		step := func(steps []store.Step) {
			t.Helper()
			replies, err := s.Transit(t.Context(), max(task.FloorMillis(s.Now()), now), steps)
			fatal.If(t, err)
			fatal.If(t, replies[0].Err)
		}
		step(store.Changes([]task.Change{task.Create{Spec: spec}}))
		one, err := s.Get(t.Context(), spec.Key)
		fatal.If(t, err)
		step(store.Claims([]task.Claim{{Key: spec.Key, Lane: one.Lane(), Token: "token", Until: now.Add(ends)}}))
		return now.Add(ends)
	}
	reap := func(now task.Millis, want int) {
		t.Helper()
		n, err := s.Reap(t.Context(), now, 10)
		fatal.If(t, err)
		if n != want {
			t.Errorf("%d leases were taken back, want %d", n, want)
		}
	}
	reap(task.FloorMillis(s.Now()), 0)
	ends := claim("later", 100*time.Millisecond)
	s.busy.Store(-int64(time.Hour))
	s.acquired.Store(-int64(time.Hour))
	reap(ends-1, 0)
	redistest.Until(t, "the lease ends", func() bool { return task.FloorMillis(s.Now()) > ends })
	reap(ends, 1)
	claim("late", -3*time.Second)
	reap(task.FloorMillis(s.Now()), 1)
}
