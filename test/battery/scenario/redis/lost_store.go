package redis

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// LostStore: an operator, or a configuration, damages the Redis of three nodes. Each
// node must notice within noticedIn after the Redis is back.
func LostStore(ctx context.Context, t *harness.Run) {
	for _, c := range storeFaults {
		t.Part(c.name, func() { strikeStore(ctx, t, c) })
	}
}

// noticedIn is the time within which every node must notice the damage.
const noticedIn = 2 * time.Second

// storeFault is damage to a Redis, and the required reaction of nodes.
type storeFault struct {
	name, dir string
	args      []string // of the Redis at first
	prepare   func(ctx context.Context, r *redistest.Server, t *harness.Run, dir string)
	strike    func(ctx context.Context, r *redistest.Server, dir string)

	code   string // of /readyz
	logged string // by each node, once
	closes bool   // nothing is created or sent; if false, the remaining tasks are still sent
	mend   []string
	away   time.Duration // how long prepare takes
}

var storeFaults = []storeFault{
	{
		name: "emptied (FLUSHALL)", dir: "emptied", code: "store_replaced", logged: "the store is closed", closes: true,
		strike: func(ctx context.Context, r *redistest.Server, _ string) { sendCommand(ctx, r, "FLUSHALL") },
	},
	{
		name: "CONFIG SET appendonly yes without redis.conf, then kill -9", dir: "restarted", args: []string{"--appendonly", "no"},
		code: "store_replaced", logged: "the store is closed", closes: true,
		prepare: func(ctx context.Context, r *redistest.Server, _ *harness.Run, _ string) {
			sendCommand(ctx, r, "CONFIG", "SET", "appendonly", "yes")
		},
		strike: func(_ context.Context, r *redistest.Server, _ string) {
			r.Kill()
			harness.Check(r.Restart())
		},
	},
	{
		name: "restored from a dump that is 20 s old", dir: "restored", code: "store_unfit", logged: "the store has older data than before",
		prepare: oldDump, away: 20 * time.Second,
		strike: func(_ context.Context, r *redistest.Server, dir string) {
			r.Kill()
			harness.Check(r.Restart("--dir", filepath.Join(dir, "dump"), "--appendonly", "no")) // otherwise it reads no dump
		},
		mend: []string{"CONFIG", "SET", "appendonly", "yes"},
	},
	{
		name: "replaced by another instance at its address", dir: "replaced", code: "store_replaced", logged: "the store is closed", closes: true,
		prepare: otherStore,
		strike: func(_ context.Context, r *redistest.Server, dir string) {
			r.Kill()
			harness.Check(r.Restart("--dir", filepath.Join(dir, "other")))
		},
	},
	{
		name: "turned to eviction (maxmemory-policy allkeys-lru)", dir: "eviction", code: "store_unfit", logged: "a setting of Redis may lose tasks: this node is not ready",
		strike: func(ctx context.Context, r *redistest.Server, _ string) {
			sendCommand(ctx, r, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		},
		mend: []string{"CONFIG", "SET", "maxmemory-policy", "noeviction"},
	},
}

// oldDump keeps a dump of the store as it is now, and waits until it is old.
func oldDump(ctx context.Context, r *redistest.Server, _ *harness.Run, dir string) {
	harness.Check(os.Mkdir(filepath.Join(dir, "dump"), 0o700))
	sendCommand(ctx, r, "SAVE")
	data := harness.OK(os.ReadFile(filepath.Join(dir, fmt.Sprint(r.Port), "dump.rdb")))
	timing.Pause(ctx, 20*time.Second)
	harness.Check(os.WriteFile(filepath.Join(dir, "dump", "dump.rdb"), data, 0o600))
}

// otherStore makes another store below dir.
func otherStore(ctx context.Context, _ *redistest.Server, t *harness.Run, dir string) {
	var other *redistest.Server
	t.Part("another store", func() {
		sub := filepath.Base(dir)
		other = t.StartRedis(filepath.Join(sub, "tmp"))
		n := t.PrepareNodes(filepath.Join(sub, "logs-of-other"), 1, "redis://"+other.Addr)
		n.StartAll(ctx)
		harness.Check(n.StopAll(25 * time.Second))
		other.Stop()
	})
	harness.Check(os.Rename(filepath.Join(dir, "tmp", fmt.Sprint(other.Port)), filepath.Join(dir, "other")))
}

// strikeStore lets one fault happen.
func strikeStore(ctx context.Context, t *harness.Run, c storeFault) {
	dir := t.Path(c.dir)
	harness.Check(os.MkdirAll(dir, 0o700))
	r := t.StartRedis(c.dir, c.args...)
	if len(c.args) > 0 { // c.prepare makes the Redis fit before the nodes start, as the remedy of older versions did
		c.prepare(ctx, r, t, dir)
	}
	n := t.PrepareNodes(c.dir+"/logs", 3, "redis://"+r.Addr, "--egress-allow", "127.0.0.0/8")
	n.StartAll(ctx)
	// Every copy of the store has these tasks. They are due after the fault.
	due := time.Now().Add(c.away + 15*time.Second)
	old := createAtAll(ctx, n, "old", 20, due)
	if c.prepare != nil && len(c.args) == 0 {
		c.prepare(ctx, r, t, dir)
	}
	soon := createAtAll(ctx, n, "new", 20, time.Now().Add(4*time.Second))
	watched := make([]*storeWatch, len(n.Servers))
	for i, s := range n.Servers {
		watched[i] = watchStore(ctx, n, s, i)
		t.Cleanup(watched[i].stop)
	}
	timing.Pause(ctx, time.Second)
	c.strike(ctx, r, dir)
	back := time.Now()
	timing.Pause(ctx, 6*time.Second)
	t.Note("%s:", c.name)
	for _, w := range watched {
		w.judge(t, c, back)
	}
	if c.mend != nil {
		mendStore(ctx, t, c, n, r)
	}
	sentSoon, sentOld := countSent(n, soon), 0
	if !c.closes {
		timing.Until(ctx, due)
		n.Receiver.AwaitAll(ctx, old, 10*time.Second)
	}
	sentOld = countSent(n, old)
	t.Note("%d accepted long before, sent %d; %d accepted just before, sent %d", len(old), sentOld, len(soon), sentSoon)
	switch {
	case c.closes:
		t.Must(sentSoon+sentOld == 0, "a closed store sends nothing")
	case c.dir == "restored": // tasks accepted after the copy are lost, as the page says
		t.Must(sentOld == len(old), "the tasks in the copy are delivered")
	default:
		t.Must(sentOld == len(old) && sentSoon == len(soon), "nothing that was accepted is lost")
	}
	mustLogOnce(n, t, c)
}

// mendStore corrects the setting, and prints when the nodes are ready again.
func mendStore(ctx context.Context, t *harness.Run, c storeFault, n *harness.Environment, r *redistest.Server) {
	sendCommand(ctx, r, c.mend...)
	began := time.Now()
	for _, s := range n.Servers {
		if _, err := s.Ready(ctx, noticedIn); err != nil {
			t.Must(false, "ready again: %v", err)
			return
		}
	}
	t.Must(true, "%s: all ready again after %v", strings.Join(c.mend, " "), time.Since(began).Round(time.Millisecond))
}

// createAtAll creates tasks at all nodes in round-robin order, and returns their names.
func createAtAll(ctx context.Context, n *harness.Environment, prefix string, count int, due time.Time) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
		c := harness.NewClient(n.Servers[i%len(n.Servers)].URL())
		_, err := c.Create(ctx, harness.Task(names[i], n.Receiver.URL(), due))
		c.Close()
		harness.Check(err)
	}
	return names
}

func countSent(n *harness.Environment, names []string) (count int) {
	for _, name := range names {
		count += min(n.Receiver.Arrivals(name), 1)
	}
	return count
}

// mustLogOnce checks that each node has logged the fault once.
func mustLogOnce(n *harness.Environment, t *harness.Run, c storeFault) {
	var counts []int
	once := true
	for _, s := range n.Servers {
		log := harness.OK(os.ReadFile(s.Log.Name()))
		counts = append(counts, bytes.Count(log, []byte(c.logged)))
		once = once && counts[len(counts)-1] == 1
	}
	t.Must(once, "lines %q in the logs: %v", c.logged, counts)
}

// storeWatch holds the answers of a node while its Redis is damaged.
type storeWatch struct {
	name  string
	stop  func()
	ready []answer // of /readyz, 100 a second
	made  []answer // of creates, 50 a second
}

// watchStore starts to send requests to a node.
func watchStore(ctx context.Context, n *harness.Environment, s *harness.Server, place int) *storeWatch {
	w := &storeWatch{name: fmt.Sprintf("n%d", place+1)}
	c := harness.NewClient(s.URL())
	balancer := c.OutsideAPI()
	stops := []func(){
		askEach(ctx, 10*time.Millisecond, &w.ready, func(ctx context.Context, _ int) answer {
			return ask(ctx, balancer, nil, http.MethodGet, "/readyz", nil)
		}),
		askEach(ctx, 20*time.Millisecond, &w.made, func(ctx context.Context, i int) answer {
			name := fmt.Sprintf("%s-%d", w.name, i)
			return ask(ctx, c, nil, http.MethodPost, "/tasks", harness.Task(name, "http://127.0.0.1:9/", time.Now().Add(time.Hour)))
		}),
	}
	w.stop = func() {
		for _, stop := range stops {
			stop()
		}
		c.Close()
	}
	return w
}

// judge ends the requests, and judges their answers since the Redis was back.
func (w *storeWatch) judge(t *harness.Run, c storeFault, back time.Time) {
	w.stop()
	noticed, took := firstUnready(w.ready, back, c.code)
	t.Must(noticed.status != 0 && took <= noticedIn, "%s: /readyz answers %s after %v", w.name, c.code, took.Round(time.Millisecond))
	before, after, unaware := 0, 0, 0
	for _, a := range w.made {
		switch {
		case a.status != http.StatusCreated:
		case a.sent.Before(back):
			before++
		case noticed.status != 0 && a.sent.After(noticed.sent.Add(100*time.Millisecond)):
			after++
		default:
			unaware++
		}
	}
	t.Must(after == 0 && (unaware == 0 || !c.closes), "%s: created before %d, between the strike and the notice %d, after that %d", w.name, before, unaware, after)
}
