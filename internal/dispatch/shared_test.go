package dispatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
)

// permitLease is how long a node keeps its permits without another request.
const permitLease = 1500 * time.Millisecond

// fleet is several dispatchers on one Redis.
type fleet struct {
	t      *testing.T
	addr   string
	stores []*redisstore.Store
	nodes  []*Dispatcher

	mu    sync.Mutex // guards the fields below
	spans []span
	asks  map[string]int // by queue
	stall time.Duration  // the longest delay of a short sleep: no node can be more punctual than this machine
}

// measure measures stall until ctx ends.
func (f *fleet) measure(ctx context.Context) {
	const nap = 5 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		time.Sleep(nap)
		f.mu.Lock()
		f.stall = max(f.stall, time.Since(began)-nap)
		f.mu.Unlock()
	}
}

// stalled returns the longest stall so far.
func (f *fleet) stalled() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stall
}

// counting counts the requests of a fleet.
type counting struct {
	store.PermitStore
	f *fleet
}

func (c counting) Permit(ctx context.Context, asks []store.PermitAsk) []store.PermitReply {
	c.f.mu.Lock()
	for _, a := range asks {
		c.f.asks[a.Queue]++
	}
	c.f.mu.Unlock()
	return c.PermitStore.Permit(ctx, asks)
}

// span is an attempt.
type span struct {
	node        int
	queue, host string
	begin, end  time.Time
}

func newFleet(t *testing.T, n int, takes func(queue string) time.Duration, limits ...settings.Setting) *fleet {
	t.Helper()
	f := &fleet{t: t, addr: redistest.New(t).Addr, asks: map[string]int{}}
	settings := settings.NewSettings(limits...)
	for i := range n {
		c := redisstore.Config{
			Node: fmt.Sprint("n", i), Shards: 24,
			ShardLease: permitLease, Heartbeat: 200 * time.Millisecond, LanePoll: 50 * time.Millisecond,
		}
		c.Client.InitAddress, c.Client.DisableCache = []string{f.addr}, true
		s, err := redisstore.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		d := New(Config{Settings: settings, Poll: 50 * time.Millisecond, Permits: counting{s, f}}, s, func(ctx context.Context, d task.Delivery) task.Outcome {
			begin := time.Now()
			if err := d.Live(); err != nil {
				return task.Outcome{Verdict: task.Unsent}
			}
			pause(ctx, takes(d.Task.Queue))
			f.mu.Lock()
			f.spans = append(f.spans, span{i, d.Task.Queue, d.Task.Lane().Destination, begin, time.Now()})
			f.mu.Unlock()
			return task.Outcome{Verdict: task.Success, Status: 200, StartedAt: task.FloorMillis(begin)}
		})
		f.stores, f.nodes = append(f.stores, s), append(f.nodes, d)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, n)
	for _, d := range f.nodes {
		go func() { ended <- d.Run(ctx) }()
	}
	var measuring sync.WaitGroup
	measuring.Go(func() { f.measure(ctx) })
	t.Cleanup(func() {
		stop()
		measuring.Wait()
		for range n {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for _, s := range f.stores {
			_ = s.Close()
		}
	})
	redistest.Until(t, "each has its shards", func() bool {
		owned := 0
		for _, s := range f.stores {
			own := s.Standing()
			if own.Owned == 0 || own.Nodes != n {
				return false
			}
			owned += own.Owned
		}
		return owned == 24
	})
	return f
}

// crowd creates tasks that are all due at the same time, a little later.
func (f *fleet) crowd(queue string, n int, hosts int) {
	f.t.Helper()
	due := at(task.CeilMillis(time.Now().Add(300 * time.Millisecond)))
	for from := 0; from < n; from += 500 {
		var changes []task.Change
		for i := range min(500, n-from) {
			changes = append(changes, task.Create{Spec: spec(f.t, fmt.Sprint(queue, from+i), 0, due, in(queue), to(fmt.Sprint("host", rand.N(hosts))))})
		}
		if _, err := f.stores[0].Transit(f.t.Context(), task.CeilMillis(time.Now()), store.Changes(changes)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// await waits until n attempts of a queue have ended, and returns them.
func (f *fleet) await(queue string, n int) []span {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		f.mu.Lock()
		spans := slices.DeleteFunc(slices.Clone(f.spans), func(s span) bool { return s.queue != queue })
		f.mu.Unlock()
		if len(spans) >= n {
			return spans
		}
		if time.Since(began) > redistest.Patience {
			for i, d := range f.nodes {
				f.t.Logf("node %d: %+v", i, d.Queues())
			}
			f.t.Fatalf("after %v there were %d attempts of %d", redistest.Patience, len(spans), n)
		}
	}
}

// together returns how many attempts were under way at once: the maximum, and
// the mean between the first start and the last.
func together(spans []span) (most int, mean float64) {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	total, first, last := time.Duration(0), spans[0].begin, spans[0].begin
	for _, s := range spans {
		edges = append(edges, edge{s.begin, 1}, edge{s.end, -1})
		if s.begin.Before(first) {
			first = s.begin
		}
		if s.begin.After(last) {
			last = s.begin
		}
	}
	for _, s := range spans {
		if s.end.Before(last) {
			total += s.end.Sub(s.begin)
		} else {
			total += last.Sub(s.begin)
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	n := 0
	for _, e := range edges {
		n += e.by
		most = max(most, n)
	}
	return most, float64(total) / float64(last.Sub(first))
}

func byHost(spans []span) map[string][]span {
	hosts := map[string][]span{}
	for _, s := range spans {
		hosts[s.host] = append(hosts[s.host], s)
	}
	return hosts
}

func perNode(spans []span) map[int]int {
	count := map[int]int{}
	for _, s := range spans {
		count[s.node]++
	}
	return count
}

// TestLimitsHoldOverAllNodesAndAreUsed: three nodes have a backlog in each
// queue.
func TestLimitsHoldOverAllNodesAndAreUsed(t *testing.T) {
	takes := map[string]time.Duration{"five": 60 * time.Millisecond, "one": 5 * time.Millisecond, "each": 20 * time.Millisecond}
	limits := map[string]*settings.QueueSettings{
		"five": {Concurrency: 5}, "one": {Concurrency: 1}, "each": {PerDestination: 2},
		"slow": {Rate: 25, Burst: 2}, "fast": {Rate: 400, Burst: 100},
	}
	tasks := map[string]int{"five": 180, "one": 150, "each": 100, "slow": 50, "fast": 900}
	if testing.Short() { // three nodes that each count alone exceed the limits by these too
		tasks = map[string]int{"five": 60, "one": 90, "each": 60, "slow": 25, "fast": 450}
	}
	var settings []settings.Setting
	for name, q := range limits {
		q.Namespace, q.Name = task.DefaultNamespace, name
		settings = append(settings, q)
	}
	f := newFleet(t, 3, func(queue string) time.Duration { return takes[queue] }, settings...)
	for queue, n := range tasks {
		f.crowd(queue, n, 10)
	}
	for queue, n := range tasks {
		spans := f.await(queue, n)
		most, mean := together(spans)
		f.mu.Lock()
		t.Logf("%s: at most %d at once, %.2f on the average; by node: %v; %.2f asks a task", queue, most, mean, perNode(spans), float64(f.asks[queue])/float64(n))
		f.mu.Unlock()
		switch q := limits[queue]; {
		case q.Rate > 0:
			wantRate(t, q, spans, f.stalled())
		case q.PerDestination > 0:
			for host, of := range byHost(spans) {
				if most, _ := together(of); most > q.PerDestination {
					t.Errorf("%s: %d were under way at once to %s", queue, most, host)
				}
			}
		case most > q.Concurrency && f.stalled() > permitLease/2:
			t.Logf("%s: %d at once: the machine stood still for %v, and permits are leased", queue, most, f.stalled())
		case most > q.Concurrency, !testing.Short() && mean < 0.5*float64(q.Concurrency):
			t.Errorf("%s: at most %d were under way at once, and %.2f on the average, want %d", queue, most, mean, q.Concurrency)
		case queue == "one" && len(perNode(spans)) != 3:
			t.Errorf("%s: of the first half each node had %v", queue, perNode(spans[:n/2]))
		}
	}
}

// wantRate checks that a rate was kept, and that long runs used it. A busy
// machine is late everywhere, so short runs prove nothing.
func wantRate(t *testing.T, q *settings.QueueSettings, spans []span, stalled time.Duration) {
	t.Helper()
	slices.SortFunc(spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	for i, from := range spans {
		for j, to := range spans[i:] {
			// An attempt begins a little after its token was used, and much
			// later on a busy machine. Three nodes that each count alone exceed
			// this by far.
			if most := float64(q.Burst) + q.Rate*(to.begin.Sub(from.begin)+250*time.Millisecond+2*stalled).Seconds(); float64(j+1) > most {
				t.Fatalf("%s: %d starts within %v", q.Name, j+1, to.begin.Sub(from.begin))
			}
		}
	}
	took, ideal := spans[len(spans)-1].begin.Sub(spans[0].begin).Seconds(), float64(len(spans)-q.Burst)/q.Rate
	t.Logf("%s: %.0f %% of the rate was used", q.Name, 100*ideal/took)
	if !testing.Short() && ideal/took < 0.8 {
		t.Errorf("%s took %.2f s, want %.2f", q.Name, took, ideal)
	}
}
