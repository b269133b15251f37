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

// Records that are kept for a day at 1000 tasks a second must be swept at 1000
// a second.
func TestASweepRemovesIdempotencyKeysTogether(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	proxy := redistest.NewProxy(t, server.Addr)
	s := openNodeWith(t, Config{Alone: true, Policy: task.Policy{KeepFinished: time.Millisecond}}, proxy.Addr)
	now := task.CeilMillis(time.Now())
	makes := tasktest.Creates("t", 300, now.Add(time.Hour), nil)
	for i, c := range makes {
		makes[i] = task.Create{Spec: c.(task.Create).Spec, Idempotency: &task.Idempotency{Key: fmt.Sprint("key", i), Fingerprint: "f"}}
	}
	for _, changes := range [][]task.Change{makes, tasktest.Cancels(makes)} {
		fatal.If(t, errOf(s.Transit(t.Context(), now, store.Changes(changes))))
	}
	const delay = 50 * time.Millisecond
	proxy.Delay(delay)
	began, swept := time.Now(), 0
	for swept < 300 {
		n, err := s.Sweep(t.Context(), task.FloorMillis(s.Now()), 1000)
		fatal.If(t, err)
		swept += n
	}
	if took := time.Since(began); took > 300*delay/2 { // one by one they would take twice as long
		t.Errorf("%d records in %v", swept, took)
	}
	for _, sh := range s.shards {
		if got, err := redistest.Command(t.Context(), server.Addr, "HLEN", sh.Idem); err != nil || got != ":0" {
			t.Errorf("%s has %s keys, %v", sh.Idem, got, err)
		}
	}
}
