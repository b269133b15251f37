package redisstore

import (
	"errors"
	"log/slog"
	"strconv"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// An older copy has the same identity and the same settings. Only the count of
// heartbeats shows its age.
func TestEveryNodeNoticesThatItsRedisWasRestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--appendonly", "no")
	a, b := fitNode(t, Config{Node: "a", Unsafe: true}, r.Addr), &known{log: &lockedBuffer{}}
	b.Store = openNodeWith(t, Config{Node: "b", Unsafe: true, Logger: slog.New(slog.NewTextHandler(b.log, nil))}, r.Addr)
	redis(t, r, "SAVE")
	const failover = 10 // heartbeats of each node that one failover may lose
	redis(t, r, "HINCRBY", storeKeys.NodesID, "beats", strconv.Itoa(3*2*failover))
	fatal.If(t, apply(t, a.Store, order("a")))
	for _, s := range []*Store{a.Store, b.Store} {
		for range 3 { // of two comparisons that wait, the first one has ended when the second one begins
			s.identity.Doubt <- struct{}{}
		}
	}
	r.Kill()
	if err := r.Restart(); err != nil { // it reads the copy
		t.Fatal(err)
	}
	for name, n := range map[string]*known{"a": a, "b": b} {
		eventually(t, name+" has noticed", func() bool {
			return n.Standing().Rollbacks == 1 && n.log.count("the store has older data than before") == 1 // the count comes before the line
		})
		if n.identity.Lost() != nil {
			t.Errorf("%s: %v; its log:\n%s", name, n.identity.Lost(), n.log.b.String())
		}
	}
	if _, err := a.Get(t.Context(), order("a").Target()); !errors.Is(err, task.ErrNotFound) {
		t.Error("it was no older copy:", err)
	}
}
