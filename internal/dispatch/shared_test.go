package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

// receptions counts the attempts of several dispatchers by queue.
type receptions struct {
	mu      sync.Mutex // guards the fields below
	now     map[string]int
	most    map[string]int
	ended   map[string]int
	byNodes map[string]map[int]bool
}

func (r *receptions) begin(node int, queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now[queue]++
	r.most[queue] = max(r.most[queue], r.now[queue])
	if r.byNodes[queue] == nil {
		r.byNodes[queue] = map[int]bool{}
	}
	r.byNodes[queue][node] = true
}

func (r *receptions) end(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now[queue]--
	r.ended[queue]++
}

// The limits of queues hold over three nodes with one Redis. Package planner
// compares shared limits with a model, and redisstore its script with its
// contract. This test joins them.
func TestLimitsHoldOverAllNodes(t *testing.T) {
	addr := redistest.New(t).Addr
	limits := settings.NewSettings(
		&settings.QueueSettings{Namespace: task.DefaultNamespace, Name: "five", Concurrency: 5},
		&settings.QueueSettings{Namespace: task.DefaultNamespace, Name: "slow", Rate: 25, Burst: 2},
	)
	r := &receptions{now: map[string]int{}, most: map[string]int{}, ended: map[string]int{}, byNodes: map[string]map[int]bool{}}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var stores []*redisstore.Store
	for i := range 3 {
		c := redisstore.Config{Shards: 24, Heartbeat: 200 * time.Millisecond, LanePoll: 50 * time.Millisecond, Shared: store.Shared{Node: fmt.Sprint("n", i)}}
		c.Client.InitAddress, c.Client.DisableCache = []string{addr}, true
		s, err := redisstore.Open(t.Context(), c)
		fatal.If(t, err)
		t.Cleanup(func() { _ = s.Close() })
		d := New(Config{Settings: limits, Poll: 50 * time.Millisecond, Permits: s, Reaper: s}, s, func(ctx context.Context, d task.Delivery) task.Outcome {
			if err := d.Live(); err != nil {
				return task.Outcome{Verdict: task.Unsent}
			}
			r.begin(i, d.Task.Queue)
			defer r.end(d.Task.Queue)
			pause(ctx, 20*time.Millisecond)
			return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: millis()}
		})
		running.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, s)
	}
	redistest.Until(t, "each node has shards", func() bool {
		return !slices.ContainsFunc(stores, func(s *redisstore.Store) bool { return s.Standing().Owned != 8 })
	})
	tasks, began := map[string]int{"five": 120, "slow": 20}, time.Now()
	var changes []task.Change
	for queue, n := range tasks {
		for i := range n {
			changes = append(changes, task.Create{Spec: spec(t, fmt.Sprint(queue, i), 0, in(queue), to(fmt.Sprint("host", i%10)))})
		}
	}
	if _, err := stores[0].Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(changes)); err != nil {
		t.Fatal(err)
	}
	for queue, n := range tasks {
		redistest.Until(t, "all tasks of "+queue+" are delivered", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.ended[queue] >= n
		})
		if least := time.Duration(n-2) * time.Second / 25; queue == "slow" && time.Since(began) < least {
			t.Errorf("%d tasks started within %v, and the rate allows them within %v", n, time.Since(began), least)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most["five"] > 5 || len(r.byNodes["five"]) < 2 {
		t.Errorf("%d were under way at once, want 5 at most; %d nodes took part", r.most["five"], len(r.byNodes["five"]))
	}
}
