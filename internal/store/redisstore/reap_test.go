package redisstore

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// TestADeathByLostLeasesIsReported: no settlement reports such a death.
func TestADeathByLostLeasesIsReported(t *testing.T) {
	t.Parallel()
	var left []*task.Task
	s := openNodeWith(t, Config{Alone: true, CallersClock: true, OnReap: func(tasks []*task.Task) { left = append(left, tasks...) }}, redistest.New(t).Addr)
	made, now := soon(t, s, "t", 1, 0)[0], task.CeilMillis(time.Now())
	for i := range task.MaxReclaims {
		now = now.Add(time.Minute)
		current, err := s.Get(t.Context(), made.Key())
		fatal.If(t, err)
		replies, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: made.Key(), Lane: current.Lane(), Token: task.Token(rune('a' + i)), Until: now + 1000}}))
		if err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
		if n, err := s.Reap(t.Context(), now+1000, 10); err != nil || n != 1 {
			t.Fatalf("took back %d leases, %v", n, err)
		}
	}
	if len(left) != task.MaxReclaims {
		t.Fatalf("%d tasks are reported", len(left))
	}
	if n := len(left); left[0].State != task.Scheduled || left[n-1].State != task.Dead || left[n-1].Reason != task.ReasonReclaims {
		t.Errorf("reported are %d tasks, the last one: %+v", n, left[n-1])
	}
}
