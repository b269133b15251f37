package postgres

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
)

const loadRate = 300 // creates a second

// Kill: kill -9 of one of three nodes, of PostgreSQL, or of both, again and again.
func Kill(ctx context.Context, t *harness.Run) {
	s := start(ctx, t)
	n := t.PrepareNodes(".", 3, s.URL())
	n.StartAll(ctx)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: loadRate, CancelShare: t.Options.Cancel, MoveShare: 0.1}
	v := n.Conclude(ctx, harness.Phases{Load: load, WarmUp: time.Second, Drain: 2 * time.Minute, Attack: func() {
		for i := range t.Options.Deaths {
			harness.Pause(ctx, between(t, time.Second, 3*time.Second))
			victim := n.Servers[t.Rand.IntN(len(n.Servers))]
			node, database := i%3 != 1, i%3 != 0
			if node {
				n.Kill(victim)
			}
			if database {
				s.Kill()
				n.RecordFault("kill -9 of PostgreSQL", time.Now())
			}
			harness.Pause(ctx, between(t, 0, 2*time.Second))
			if database { // no settlement was written until now
				n.RecordFault("no PostgreSQL", time.Now())
				harness.Check(s.Restart())
			}
			if node {
				harness.Check(victim.Run(ctx))
			}
		}
	}})
	load.Report(t, v)
}
