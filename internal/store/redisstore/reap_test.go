package redisstore

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/records"
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
		if err != nil {
			t.Fatal(err)
		}
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

func TestAnOwnerReadsLeasesOnlyWhenOneCanHaveEnded(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openNodeWith(t, Config{Alone: true, CallersClock: true}, server.Addr)
	made, now := soon(t, s, "t", 1, 0)[0], task.CeilMillis(time.Now())
	reap := func(at task.Millis, times, want int) (commands float64) {
		t.Helper()
		before := infoNumbers(t, server.Addr, "total_commands_processed")
		for range times {
			if n, err := s.Reap(t.Context(), at, 10); err != nil || n != want {
				t.Fatalf("took back %d leases, %v", n, err)
			}
		}
		return infoNumbers(t, server.Addr, "total_commands_processed")[0] - before[0]
	}
	reap(now, 1, 0) // reads all shards once
	if n := reap(now, thoroughReap-2, 0); n > 10 {
		t.Errorf("without leases it sent %v commands", n)
	}
	if n := reap(now, 1, 0); n < float64(len(s.shards)) {
		t.Errorf("the thorough call sent %v commands", n)
	}
	replies, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: made.Key(), Lane: made.Lane(), Token: "a", Until: now + 1000}}))
	if err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
	if n := reap(now+999, 5, 0); n > 10 {
		t.Errorf("before the end of a lease it sent %v commands", n)
	}
	reap(now+1000, 1, 1)
}

func TestAMasterThatWasReplacedIsAskedForAllLeases(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openNodeWith(t, Config{Alone: true, CallersClock: true}, server.Addr)
	made, now := soon(t, s, "t", 1, 0)[0], task.CeilMillis(time.Now())
	if _, err := s.Reap(t.Context(), now, 10); err != nil {
		t.Fatal(err)
	}
	replies, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: made.Key(), Lane: made.Lane(), Token: "a", Until: now + 60_000}}))
	if err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
	// The master lost the claim, and has an older one.
	sh, c := s.shard(made.Key()), s.servers.Client
	old := records.Record{Task: replies[0].Task.WithoutBody()}
	lost := *old.Task
	lost.Lease.Until = now + 1000
	item, _ := records.Replacement(sh, records.Record{}, &lost)
	if err := c.Do(t.Context(), c.B().Hset().Key(sh.Meta).FieldValue().FieldValue(item.Field, item.Value).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), c.B().Zadd().Key(sh.Running).ScoreMember().ScoreMember(float64(now+1000), item.Field).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	s.servers.Replaced.Add(1)
	if n, err := s.Reap(t.Context(), now+1000, 10); err != nil || n != 1 {
		t.Errorf("took back %d leases, %v", n, err)
	}
}
