package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

func TestRemovedQueuesLeaveNoCounts(t *testing.T) {
	server := redistest.New(t)
	s := openNodeWith(t, Config{Policy: task.Policy{KeepFinished: time.Millisecond}}, server.Addr)
	now := task.CeilMillis(time.Now())
	makes := tasktest.Creates("t", 30, now.Add(time.Hour), func(i int, s *task.Spec) { s.Queue = fmt.Sprint("queue", i) })
	for _, changes := range [][]task.Change{makes, tasktest.Cancels(makes)} {
		fatal.If(t, errOf(s.Transit(t.Context(), now, store.Changes(changes))))
	}
	eventually(t, "all records are swept", func() bool {
		fatal.If(t, errOf(s.Sweep(t.Context(), task.FloorMillis(s.Now()), 100)))
		counts, err := s.Counts(t.Context())
		return err == nil && len(counts) == 0
	})
	for _, sh := range s.shards {
		if got, err := redistest.Command(t.Context(), server.Addr, "HLEN", sh.Counts); err != nil || got != ":0" {
			t.Errorf("%s has %s fields, %v", sh.Counts, got, err)
		}
	}
}
