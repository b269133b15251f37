package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// lostStore: what an operator, or a package's configuration, does to a Redis under
// three nodes. Each must notice within noticedIn after the Redis is back.
func lostStore(ctx context.Context, t *trial) error {
	for _, c := range storeFaults {
		if err := t.strikeStore(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// noticedIn is within how long every node must notice.
const noticedIn = 2 * time.Second

// storeFault is damage to a Redis, and the required reaction of nodes.
type storeFault struct {
	name, dir string
	args      []string // of the Redis at first
	prepare   func(ctx context.Context, r *redistest.Server, t *trial, dir string) error
	strike    func(ctx context.Context, r *redistest.Server, dir string) error

	code   string // of /readyz
	logged string // by each node, once
	closes bool   // nothing is created or sent; otherwise tasks that are left go on
	mend   []string
	away   time.Duration // how long prepare takes
}

var storeFaults = []storeFault{
	{
		name: "emptied (FLUSHALL)", dir: "emptied", code: "store_replaced", logged: "the store is closed", closes: true,
		strike: func(ctx context.Context, r *redistest.Server, _ string) error { return order(ctx, r, "FLUSHALL") },
	},
	{
		name: "CONFIG SET appendonly yes without redis.conf, then kill -9", dir: "restarted", args: []string{"--appendonly", "no"},
		code: "store_replaced", logged: "the store is closed", closes: true,
		prepare: func(ctx context.Context, r *redistest.Server, _ *trial, _ string) error {
			return order(ctx, r, "CONFIG", "SET", "appendonly", "yes")
		},
		strike: func(_ context.Context, r *redistest.Server, _ string) error {
			r.Kill()
			return r.Restart()
		},
	},
	{
		name: "restored from a dump that is 20 s old", dir: "restored", code: "store_unfit", logged: "the store went back in time",
		prepare: oldDump, away: 20 * time.Second,
		strike: func(_ context.Context, r *redistest.Server, dir string) error {
			r.Kill()
			return r.Restart("--dir", filepath.Join(dir, "dump"), "--appendonly", "no") // otherwise it reads no dump
		},
		mend: []string{"CONFIG", "SET", "appendonly", "yes"},
	},
	{
		name: "replaced by another instance at its address", dir: "replaced", code: "store_replaced", logged: "the store is closed", closes: true,
		prepare: otherStore,
		strike: func(_ context.Context, r *redistest.Server, dir string) error {
			r.Kill()
			return r.Restart("--dir", filepath.Join(dir, "other"))
		},
	},
	{
		name: "turned to eviction (maxmemory-policy allkeys-lru)", dir: "eviction", code: "store_unfit", logged: "tasks may get lost: this server is not ready",
		strike: func(ctx context.Context, r *redistest.Server, _ string) error {
			return order(ctx, r, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		},
		mend: []string{"CONFIG", "SET", "maxmemory-policy", "noeviction"},
	},
}

// oldDump keeps a dump of the store as it is now, and waits until it is old.
func oldDump(ctx context.Context, r *redistest.Server, _ *trial, dir string) error {
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "dump"), 0o700), order(ctx, r, "SAVE")); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(r.Port), "dump.rdb"))
	if err != nil {
		return err
	}
	timing.Pause(ctx, 20*time.Second)
	return os.WriteFile(filepath.Join(dir, "dump", "dump.rdb"), data, 0o600)
}

// otherStore makes another store below dir.
func otherStore(ctx context.Context, _ *redistest.Server, t *trial, dir string) error {
	other, err := redistest.Start(filepath.Join(dir, "tmp"))
	if err != nil {
		return err
	}
	defer other.Kill()
	n, err := t.nodesIn(filepath.Join(filepath.Base(dir), "logs-of-other"), 1, "redis://"+other.Addr)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.startAll(ctx); err != nil {
		return err
	}
	if err := n.stopAll(25 * time.Second); err != nil {
		return err
	}
	other.Stop()
	return os.Rename(filepath.Join(dir, "tmp", fmt.Sprint(other.Port)), filepath.Join(dir, "other"))
}

// strikeStore lets one fault happen.
func (t *trial) strikeStore(ctx context.Context, c storeFault) error {
	dir := t.path(c.dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r, err := redistest.Start(dir, c.args...)
	if r != nil {
		defer r.Kill()
	}
	if err != nil {
		return err
	}
	if len(c.args) > 0 { // fit, as the remedy of older versions made it
		if err := c.prepare(ctx, r, t, dir); err != nil {
			return err
		}
	}
	n, err := t.nodesIn(c.dir+"/logs", 3, "redis://"+r.Addr, "--egress-allow", "127.0.0.0/8")
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.startAll(ctx); err != nil {
		return err
	}
	// These are in any copy. They come due when all is over.
	due := time.Now().Add(c.away + 15*time.Second)
	old, err := n.accept(ctx, "old", 20, due)
	if err != nil {
		return err
	}
	if c.prepare != nil && len(c.args) == 0 {
		if err := c.prepare(ctx, r, t, dir); err != nil {
			return err
		}
	}
	soon, err := n.accept(ctx, "new", 20, time.Now().Add(4*time.Second))
	if err != nil {
		return err
	}
	watched := make([]*storeWatch, len(n.list))
	for i, s := range n.list {
		watched[i] = n.watchStore(ctx, s, i)
	}
	timing.Pause(ctx, time.Second)
	if err := c.strike(ctx, r, dir); err != nil {
		return err
	}
	back := time.Now()
	timing.Pause(ctx, 6*time.Second)
	t.note("%s:", c.name)
	for _, w := range watched {
		w.judge(t, c, back)
	}
	if c.mend != nil {
		if err := t.mendStore(ctx, c, n, r); err != nil {
			return err
		}
	}
	sentSoon, sentOld := n.sent(soon), 0
	if !c.closes {
		timing.Until(ctx, due)
		n.receiver.AwaitAll(ctx, old, 10*time.Second)
	}
	sentOld = n.sent(old)
	t.note("%d accepted long before, sent %d; %d accepted just before, sent %d", len(old), sentOld, len(soon), sentSoon)
	switch {
	case c.closes:
		t.must(sentSoon+sentOld == 0, "a closed store sends nothing")
	case c.dir == "restored": // what was accepted after the copy is lost, as it says
		t.must(sentOld == len(old), "what is in the copy is delivered")
	default:
		t.must(sentOld == len(old) && sentSoon == len(soon), "nothing that was accepted is lost")
	}
	return n.logged(t, c)
}

// mendStore corrects the setting, and says when the nodes are ready again.
func (t *trial) mendStore(ctx context.Context, c storeFault, n *nodes, r *redistest.Server) error {
	if err := order(ctx, r, c.mend...); err != nil {
		return err
	}
	began := time.Now()
	for _, s := range n.list {
		if _, err := s.ready(ctx, noticedIn); err != nil {
			t.must(false, "ready again: %v", err)
			return nil
		}
	}
	t.must(true, "%s: all ready again after %v", strings.Join(c.mend, " "), time.Since(began).Round(time.Millisecond))
	return nil
}

// accept creates tasks by all nodes in turn, and returns their names.
func (n *nodes) accept(ctx context.Context, prefix string, count int, due time.Time) ([]string, error) {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
		c := newClient(n.list[i%len(n.list)].url())
		_, err := c.create(ctx, input(names[i], n.receiver.URL(), due))
		c.close()
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (n *nodes) sent(names []string) (count int) {
	for _, name := range names {
		count += min(n.receiver.Arrivals(name), 1)
	}
	return count
}

// logged checks that each node has logged the fault once.
func (n *nodes) logged(t *trial, c storeFault) error {
	var counts []int
	once := true
	for _, s := range n.list {
		log, err := os.ReadFile(s.log.Name())
		if err != nil {
			return err
		}
		counts = append(counts, bytes.Count(log, []byte(c.logged)))
		once = once && counts[len(counts)-1] == 1
	}
	t.must(once, "lines %q in the logs: %v", c.logged, counts)
	return nil
}

// storeWatch holds the answers of a node while its Redis is damaged.
type storeWatch struct {
	name  string
	stop  func()
	ready []answer // of /readyz, 100 a second
	made  []answer // of creates, 50 a second
}

// watchStore begins to ask a node.
func (n *nodes) watchStore(ctx context.Context, s *server, place int) *storeWatch {
	w := &storeWatch{name: fmt.Sprintf("n%d", place+1)}
	c := newClient(s.url())
	balancer := c.balancer()
	stops := []func(){
		askEach(ctx, 10*time.Millisecond, &w.ready, func(ctx context.Context, _ int) answer {
			return balancer.ask(ctx, nil, http.MethodGet, "/readyz", nil)
		}),
		askEach(ctx, 20*time.Millisecond, &w.made, func(ctx context.Context, i int) answer {
			name := fmt.Sprintf("%s-%d", w.name, i)
			return c.ask(ctx, nil, http.MethodPost, "/tasks", input(name, "http://127.0.0.1:9/", time.Now().Add(time.Hour)))
		}),
	}
	w.stop = func() {
		for _, stop := range stops {
			stop()
		}
		c.close()
	}
	return w
}

// judge ends the asking, and says how it went since the Redis was back.
func (w *storeWatch) judge(t *trial, c storeFault, back time.Time) {
	w.stop()
	noticed, took := firstUnready(w.ready, back, c.code)
	t.must(noticed.status != 0 && took <= noticedIn, "%s: /readyz says %s after %v", w.name, c.code, took.Round(time.Millisecond))
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
	t.must(after == 0 && (unaware == 0 || !c.closes), "%s: created before %d, between the strike and the notice %d, after that %d", w.name, before, unaware, after)
}
