package redisstore

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// An older copy has the same identity and the same settings. Only the count of
// heartbeats shows its age.
func TestEveryNodeNoticesThatItsRedisWasRestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--appendonly", "no")
	a, b := fitNode(t, Config{Node: "a", UnsafePersistence: true}, r.Addr), &known{log: &lockedBuffer{}}
	b.Store = openNodeWith(t, Config{Node: "b", UnsafePersistence: true, Logger: slog.New(slog.NewTextHandler(b.log, nil))}, r.Addr)
	redis(t, r, "SAVE")
	const failover = 10 // heartbeats of each node that one failover may lose
	before := beats(t, r)
	if err := apply(t, a.Store, order("a")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it counts on", func() bool { return beats(t, r) > before+3*2*failover })
	r.Kill()
	if err := r.Restart(); err != nil { // it reads the copy
		t.Fatal(err)
	}
	back := time.Now()
	for name, n := range map[string]*known{"a": a, "b": b} {
		eventually(t, name+" has noticed", func() bool {
			return n.Standing().Rollbacks == 1 && n.log.count("the store has older data than before") == 1 // the count comes before the line
		})
		if n.identity.Lost() != nil {
			t.Errorf("%s: %v; its log:\n%s", name, n.identity.Lost(), n.log.b.String())
		}
	}
	t.Logf("both noticed within %v", time.Since(back).Round(time.Millisecond))
	if _, err := a.Get(t.Context(), order("a").Target()); !errors.Is(err, task.ErrNotFound) {
		t.Error("it was no older copy:", err)
	}
}
