package redisstore

import (
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// The bound of an emptied lane goes away, so polls stop reading the lane. The
// bound of a lane whose head has gone rises to the new head.
func TestTheBoundsOfLanesFollowTheirHeads(t *testing.T) {
	server := redistest.New(t)
	s := openAt(t, server.Addr)
	defer func() { _ = s.Close() }()
	const at = 1_800_000_000_000
	makes := tasktest.Creates("t", 20, at, func(i int, s *task.Spec) { s.When.At += task.Millis(i%2) * 1000 })
	replies, err := s.Transit(t.Context(), at, store.Changes(makes))
	fatal.If(t, err)
	lane := replies[0].Task.Lane()
	look := func() map[task.Millis]int {
		t.Helper()
		fatal.If(t, errOf(s.Peek(t.Context(), []store.LaneRead{{Lane: lane, Until: lanes.Forever, Limit: 100}})))
		fatal.If(t, s.lanes.RaiseBounds(t.Context()))
		found := map[task.Millis]int{}
		for _, sh := range s.shards {
			c := s.servers.Client
			scores, err := c.Do(t.Context(), c.B().Zrange().Key(sh.Lanes).Min("0").Max("-1").Withscores().Build()).AsZScores()
			fatal.If(t, err)
			for _, z := range scores {
				found[task.Millis(z.Score)]++
			}
		}
		return found
	}
	cancel := func(remainder int) {
		t.Helper()
		var cancels []task.Change
		for i, c := range tasktest.Cancels(makes) {
			if i%2 == remainder {
				cancels = append(cancels, c)
			}
		}
		fatal.If(t, errOf(s.Transit(t.Context(), at, store.Changes(cancels))))
	}
	if found := look(); found[at] == 0 {
		t.Fatalf("at the beginning: %v", found)
	}
	cancel(0)
	if found := look(); found[at] != 0 || found[at+1000] == 0 {
		t.Errorf("with the early ones gone: %v", found)
	}
	cancel(1)
	if found := look(); len(found) != 0 {
		t.Errorf("with all gone: %v", found)
	}
}
