package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// fill writes foreign keys until the server has no memory left. Then it deletes
// some of them, because the refused write itself needed memory that is free
// again.
func fill(t *testing.T, addr string) {
	t.Helper()
	for {
		reply, err := redistest.Command(t.Context(), addr, "RPUSH", "fill", strings.Repeat("x", 256<<10))
		fatal.If(t, err)
		if strings.HasPrefix(reply, "-OOM") {
			break
		}
	}
	if reply, err := redistest.Command(t.Context(), addr, "CONFIG", "SET", "maxmemory", "19mb"); reply != "+OK" {
		t.Fatal(reply, err)
	}
}

func TestAFullServerRefusesNewTasksAndDeliversExistingOnes(t *testing.T) {
	t.Parallel()
	for _, polled := range []bool{false, true} {
		t.Run(fmt.Sprintf("known before: %v", polled), func(t *testing.T) {
			addr := redistest.New(t, "--maxmemory", "20mb").Addr
			s := openLevel(t, Default, 0, addr)
			soon := func(name string) task.Create {
				c := order(name)
				c.Spec.When.Delay = 0
				c.Spec.When.At = task.FloorMillis(time.Now()) - 1
				return c
			}
			fatal.If(t, apply(t, s, soon("a"), order("b"), order("c")))
			fatal.If(t, apply(t, s, soon("dead")))
			dead, err := s.Get(t.Context(), order("dead").Target())
			fatal.If(t, err)
			ends := task.CeilMillis(time.Now())
			for _, st := range []store.Step{
				store.Claims([]task.Claim{tasktest.Claim(dead, "9", ends+10_000)})[0],
				store.Settlements([]task.Settlement{{Key: dead.Key(), Token: "9", Outcome: task.Outcome{Verdict: task.Refusal}}})[0],
			} {
				if r, err := s.Transit(t.Context(), ends, []store.Step{st}); err != nil || r[0].Err != nil {
					t.Fatal(r, err)
				}
			}
			fill(t, addr)
			if polled {
				fatal.If(t, s.servers.CheckMasters(t.Context()))
			}
			if err := apply(t, s, order("d")); !errors.Is(err, task.ErrFull) {
				t.Fatalf("create: %v", err)
			}
			plain := order("e")
			plain.Idempotency = nil
			if err := apply(t, s, plain); !errors.Is(err, task.ErrFull) {
				t.Fatalf("create without an Idempotency-Key: %v", err)
			}
			if err := apply(t, s, task.Revive{Key: dead.Key()}); err != nil {
				t.Fatalf("retry of a dead task: %v", err)
			}
			if err := apply(t, s, task.Cancel{Key: order("b").Target()}); err != nil {
				t.Fatalf("cancel: %v", err)
			}
			a, err := s.Get(t.Context(), order("a").Target())
			fatal.If(t, err)
			now := task.FloorMillis(time.Now())
			got, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{tasktest.Claim(a, "1", now+10_000)}))
			if err != nil || got[0].Err != nil {
				t.Fatalf("claim: %v, %v", got, err)
			}
			got, err = s.Transit(t.Context(), now+1, store.Settlements([]task.Settlement{{Key: a.Key(), Token: "1", Outcome: task.Outcome{Verdict: task.Success}}}))
			if err != nil || got[0].Err != nil {
				t.Fatalf("settle: %v, %v", got, err)
			}
		})
	}
}
