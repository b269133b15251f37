package redisstore

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
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
		replies, err := s.Transit(context.Background(), now, store.Changes(changes))
		fatal.If(b, err)
		for _, r := range replies {
			fatal.If(b, r.Err)
		}
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
	if replies, err := s.Configure(t.Context(), now, []settings.Edit{settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other"}}}); err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
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
