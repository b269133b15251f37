package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// TestAnUpdateReachesEveryLaneWhileLanesComeAndGo: when a lane is removed, the
// last lane gets its index, and the update may not have reached that lane.
func TestAnUpdateReachesEveryLaneWhileLanesComeAndGo(t *testing.T) {
	const now = 1_000_000
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		pl := New(Config{Window: 5 * time.Second, Tasks: 100_000, Slots: 1024})
		pl.pieces = 1 + rnd.IntN(8)
		name := func(i int) task.Lane {
			return task.Lane{Namespace: "a", Queue: fmt.Sprint("q", i), Destination: "host"}
		}
		var empty []*lane
		next := 0
		for range 100 {
			pl.Hint(now, task.Entry{Name: fmt.Sprint("t", next), Lane: name(next), Due: now})
			next++
		}
		target := pl.lanes[name(0)].destination
		for range 2000 {
			switch rnd.IntN(12) {
			case 0:
				pl.Hint(now, task.Entry{Name: fmt.Sprint("t", next), Lane: name(next), Due: now})
				next++
			case 1, 2, 3:
				empty = append(empty, pl.laneOf(name(next), now))
				next++
			case 4, 5, 6:
				if n := len(empty); n > 0 {
					i := rnd.IntN(n)
					pl.drop(empty[i])
					empty[i] = empty[n-1]
					empty = empty[:n-1]
				}
			case 7:
				if target.retryAt > pl.monotonic {
					pl.Tick(target.retryAt)
					pl.reopen(target)
				} else {
					pl.Slow(&Pick{lane: target.lanes[0], picked: pl.monotonic}, time.Minute)
				}
			default:
				pl.Refresh(now)
			}
			if len(pl.updates) > 0 {
				continue
			}
			pl.refresh(now)
			want := ready
			if target.retryAt > pl.monotonic {
				want = blocked
			}
			for _, l := range pl.lanes {
				if l.order.len() > 0 && l.state != want {
					t.Fatalf("seed %d: the update is done, and the lane at place %d of %d is in state %d, not %d", seed, l.inDestination, len(target.lanes), l.state, want)
				}
			}
		}
	}
}
