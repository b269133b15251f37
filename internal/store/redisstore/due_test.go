package redisstore

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// fillLanes creates n tasks in so many lanes, due at different times of a day.
func fillLanes(b testing.TB, s *Store, now task.Millis, n, lanes int, edits ...func(*task.Spec)) {
	b.Helper()
	for first := 0; first < n; first += 1000 {
		changes := tasktest.Creates(fmt.Sprint("order-", first, "-"), min(1000, n-first), now+3_600_000, func(i int, s *task.Spec) {
			at := first + i
			s.When.At += task.Millis(at * 7919 % 86_400_000)
			s.Request.URL = fmt.Sprintf("https://h%d.example/hook", at%lanes)
			for _, edit := range edits {
				edit(s)
			}
		})
		fatal.If(b, transit(b, s, now, store.Changes(changes)))
	}
}

// minutes returns the bounds of so many minutes.
func minutes(now task.Millis, n int) (bounds []task.Millis) {
	for i := range n {
		bounds = append(bounds, now+task.Millis(i+1)*60_000)
	}
	return bounds
}

// A lane with many tasks is counted by the server, one with few tasks is read. Both
// must have the same counts as the times of the tasks.
func TestLongLanesAreCounted(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	nodes := []*Store{openNode(t, "a", server.Addr), openNode(t, "b", server.Addr)}
	now := task.CeilMillis(time.Now())
	const n = 3000 // 16 shards: one lane has more entries than are read
	fillLanes(t, nodes[0], now, n, 1)
	bounds := minutes(now, 26*60)
	want := make([]int, len(bounds))
	for i := range n {
		want[(3_600_000+i*7919%86_400_000)/60_000]++
	}
	for _, s := range nodes {
		got := make([]int, len(bounds))
		exact, err := s.Due(t.Context(), store.DueRead{Bounds: bounds, Budget: math.MaxInt32}, func(_ task.Lane, interval, tasks int) { got[interval] += tasks })
		if err != nil || exact != bounds[len(bounds)-1] || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v until %d, error %v, want %v", got, exact, err, want)
		}
	}
}

// The index of lanes has those of all namespaces. A read of lanes that are not
// counted uses up the budget too.
func TestLanesOfOtherNamespacesUseUpTheBudget(t *testing.T) {
	t.Parallel()
	s := openNode(t, "a", redistest.New(t).Addr)
	now := task.CeilMillis(time.Now())
	edit(t, s, now, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other"}})
	const lanes = 1000
	fillLanes(t, s, now-3_600_000, lanes, lanes, func(spec *task.Spec) { spec.Namespace, spec.ID = "other", "other-"+spec.ID })
	fillLanes(t, s, now+86_400_000, lanes, lanes)
	bounds := minutes(now, 4*24*60)
	for _, c := range []struct {
		budget, most int
		all          bool
	}{
		{2 * lanes, lanes / 2, false},
		{4 * lanes, lanes, false},
		{10 * lanes, lanes, true},
	} {
		got := 0
		exact, err := s.Due(t.Context(), store.DueRead{Namespace: task.DefaultNamespace, Bounds: bounds, Budget: c.budget}, func(_ task.Lane, _, tasks int) { got += tasks })
		if all := exact == bounds[len(bounds)-1]; err != nil || got > c.most || all != c.all || all && got != lanes {
			t.Errorf("budget %d: %d tasks, until %d, error %v", c.budget, got, exact, err)
		}
	}
}

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
