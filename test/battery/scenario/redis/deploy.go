package redis

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	deployRate  = 200                     // creates a second
	deployLives = 1500 * time.Millisecond // of a node between two restarts
	deployLate  = 100 * time.Millisecond
	deployStop  = 25 * time.Second
)

// Deploy: an operator restarts each of three nodes in turn, and then one that is
// alone. No node is killed: no task comes twice, and none waits for a lease.
func Deploy(ctx context.Context, t *harness.Run) error {
	for _, of := range []struct {
		sub   string
		count int
	}{{"three", 3}, {"one", 1}} {
		t.Note("%s: %d restarts of each", of.sub, t.Options.Deploys)
		if err := deployOf(ctx, t, of.sub, of.count); err != nil {
			return err
		}
	}
	return nil
}

func deployOf(ctx context.Context, t *harness.Run, sub string, count int) error {
	n, err := t.StartNodes(ctx, sub, count)
	if err != nil {
		return err
	}
	defer n.Close()
	load := &harness.Load{Environment: n.Environment, Target: n.Endpoints, Rate: deployRate}
	var gaps []gap
	v, err := n.ConcludeUnder(ctx, load, func() (err error) {
		gaps, err = restartInTurn(ctx, n, t.Options.Deploys)
		return err
	})
	if err != nil {
		return err
	}
	t.Must(load.Unanswered == 0, "creates without an answer %d", load.Unanswered)
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	e, err := n.Evidence()
	if err != nil {
		return err
	}
	slices.SortFunc(gaps, func(a, b gap) int { return cmp.Compare(a.stop+a.start, b.stop+b.start) })
	longest := gaps[len(gaps)-1]
	t.Note("%d restarts; longest from the signal until the process had ended %s, and until the next was ready %s more", len(gaps), verify.Millis(longest.stop), verify.Millis(longest.start))
	machines := verify.Percentile(n.Idle, 100) // the longest delay of any process on this machine
	mustArriveWithin(t, "over restarts", e.Delays().Untouched, deployLate+machines)
	return nil
}

// gap is how long a restart left a node not ready: until its process had ended,
// and from then until the next was ready.
type gap struct{ stop, start time.Duration }

// restartInTurn stops one node after another as an operator does, and starts
// each again, so many times.
func restartInTurn(ctx context.Context, n *harness.Nodes, times int) (gaps []gap, err error) {
	for range times {
		for _, s := range n.Servers {
			if !timing.Pause(ctx, deployLives) {
				return nil, ctx.Err()
			}
			began := time.Now()
			if err := s.Stop(deployStop); err != nil {
				return nil, err
			}
			ended := time.Now()
			if err := s.Run(ctx); err != nil {
				return nil, err
			}
			gaps = append(gaps, gap{stop: ended.Sub(began), start: time.Since(ended)})
		}
	}
	timing.Pause(ctx, deployLives)
	return gaps, nil
}
