package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

func TestRemovedQueuesLeaveNoCounts(t *testing.T) {
	server := redistest.New(t)
	s := openNodeWith(t, Config{Policy: task.Policy{KeepFinished: time.Millisecond}}, server.Addr)
	now := task.CeilMillis(time.Now())
	var makes, cancels []task.Change
	for i := range 30 {
		spec := task.DefaultSpec()
		spec.Key, spec.ID = task.Key{Namespace: "default", Name: fmt.Sprint("t", i)}, fmt.Sprint("id", i)
		spec.Queue, spec.Request.URL, spec.When = fmt.Sprint("queue", i), "https://receiver.example/", task.When{At: now.Add(time.Hour)}
		spec.Request.BodyKind, spec.Request.Body = task.TextBody, []byte("body")
		if err := spec.Validate(now); err != nil {
			t.Fatal(err)
		}
		makes, cancels = append(makes, task.Create{Spec: spec}), append(cancels, task.Cancel{Key: spec.Key})
	}
	for _, changes := range [][]task.Change{makes, cancels} {
		if _, err := s.Transit(t.Context(), now, store.Changes(changes)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all records are swept", func() bool {
		if _, err := s.Sweep(t.Context(), task.FloorMillis(s.Now()), 100); err != nil {
			t.Fatal(err)
		}
		counts, err := s.Counts(t.Context())
		return err == nil && len(counts) == 0
	})
	for _, sh := range s.shards {
		if got, err := redistest.Command(t.Context(), server.Addr, "HLEN", sh.Counts); err != nil || got != ":0" {
			t.Errorf("%s has %s fields, %v", sh.Counts, got, err)
		}
	}
}
