package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
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
			s := openLevel(t, Default, addr)
			soon := func(name string) task.Create {
				c := order(name)
				c.Spec.When = task.When{At: task.FloorMillis(time.Now()) - 1}
				return c
			}
			fatal.If(t, apply(t, s, soon("a"), soon("dead"), order("b"), order("c")))
			fatal.If(t, attempt(t, s, "dead", task.Refusal))
			fill(t, addr)
			if polled {
				fatal.If(t, s.servers.CheckMasters(t.Context()))
			}
			for _, c := range []task.Create{order("d"), unmarked("e")} {
				if err := apply(t, s, c); !errors.Is(err, task.ErrFull) {
					t.Errorf("create of %s: %v", c.Spec.Name, err)
				}
			}
			for what, err := range map[string]error{
				"retry of a dead task": apply(t, s, task.Revive{Key: tasktest.Key("dead")}),
				"cancel":               apply(t, s, task.Cancel{Key: tasktest.Key("b")}),
				"attempt":              attempt(t, s, "a", task.Success),
			} {
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}
