package redis

import (
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

// LostSettings: a store with tokens loses all of its data or a part of it, while
// three servers use it. No client without a token may be served.
func LostSettings(ctx context.Context, t *harness.Run) {
	damageEach(ctx, t, []damage{
		{name: "DEL of the settings", dir: "del", code: "settings_lost", logged: closed, open: oneRedis(nil, func(ctx context.Context, r *redistest.Server, _ string) *redistest.Server {
			sendCommand(ctx, r, "DEL", "foliot:{settings}:all")
			return nil
		})},
		flushed,
		{name: "an empty restart", dir: "restart", code: replaced, logged: closed, gone: true, open: oneRedis(nil, func(_ context.Context, r *redistest.Server, dir string) *redistest.Server {
			r.Kill()
			empty := filepath.Join(dir, "empty")
			harness.Check(os.Mkdir(empty, 0o700))
			harness.Check(r.Restart("--dir", empty))
			return r
		})},
		{name: "an empty replica is promoted", dir: "replica", code: replaced, logged: closed, gone: true, open: sentinelRedis},
		{name: "one master of a Cluster comes back empty", dir: "cluster", code: replaced, logged: closed, open: clusterRedis},
	})
}

// LostStore: an operator, or a configuration, damages the Redis of three servers.
// Each must notice within noticedIn after the Redis is back.
func LostStore(ctx context.Context, t *harness.Run) {
	damageEach(ctx, t, []damage{
		flushed,
		{name: "CONFIG SET appendonly yes without redis.conf, then kill -9", dir: "restarted", code: replaced, logged: closed, gone: true, open: unsavedRedis},
		{
			name: "restored from a dump that is 20 s old", dir: "restored", code: "store_unfit", logged: "the store has older data than before", rolledBack: true,
			open: restoredRedis, mend: []string{"CONFIG", "SET", "appendonly", "yes"},
		},
		{name: "replaced by another instance at its address", dir: "replaced", code: replaced, logged: closed, gone: true, open: replacedRedis},
		{
			name: "turned to eviction (maxmemory-policy allkeys-lru)", dir: "eviction", code: "store_unfit", logged: "a setting of Redis may lose tasks: this node is not ready",
			open: oneRedis(nil, func(ctx context.Context, r *redistest.Server, _ string) *redistest.Server {
				sendCommand(ctx, r, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
				return nil
			}),
			mend: []string{"CONFIG", "SET", "maxmemory-policy", "noeviction"},
		},
	})
}

// noticedIn is the time within which every server must notice the damage.
const noticedIn = 2 * time.Second

// closed is logged by a server that closes because all or a part of its store was
// replaced, and replaced is the code of its /readyz.
const closed, replaced = "the store is closed", "store_replaced"

// damage to a store, and the required reaction of its servers.
type damage struct {
	name, dir string
	open      openStore

	code       string   // of /readyz
	logged     string   // by each server, once
	gone       bool     // the whole store: nothing is created after the damage
	rolledBack bool     // tasks that were accepted last are lost
	mend       []string // the command that repairs the Redis; nil: the servers close, and nothing is sent any more
}

// openStore starts a store with its files in dir.
type openStore func(ctx context.Context, t *harness.Run, dir string) damagedStore

type damagedStore struct {
	url     string
	redis   *redistest.Server         // the only server, or nil
	prepare func(ctx context.Context) // while the servers run, some time before the damage; nil: nothing
	takes   time.Duration             // the time that prepare takes

	// strike damages the store, and returns when its Redis servers answer again.
	// It returns the server that must stay empty, or nil.
	strike func(ctx context.Context) (emptied *redistest.Server)
}

var flushed = damage{name: "emptied (FLUSHALL)", dir: "flushall", code: replaced, logged: closed, gone: true, open: oneRedis(nil, func(ctx context.Context, r *redistest.Server, _ string) *redistest.Server {
	sendCommand(ctx, r, "FLUSHALL")
	return r
})}

func oneRedis(args []string, strike func(ctx context.Context, r *redistest.Server, dir string) *redistest.Server) openStore {
	return func(_ context.Context, t *harness.Run, dir string) damagedStore {
		r := t.StartRedis(filepath.Base(dir), args...)
		return damagedStore{url: "redis://" + r.Addr, redis: r, strike: func(ctx context.Context) *redistest.Server { return strike(ctx, r, dir) }}
	}
}

// restartedWith starts a Redis again after kill -9.
func restartedWith(args func(dir string) []string) func(context.Context, *redistest.Server, string) *redistest.Server {
	return func(_ context.Context, r *redistest.Server, dir string) *redistest.Server {
		r.Kill()
		harness.Check(r.Restart(args(dir)...))
		return nil
	}
}

// unsavedRedis has a setting that its next start does not have.
func unsavedRedis(ctx context.Context, t *harness.Run, dir string) damagedStore {
	s := oneRedis([]string{"--appendonly", "no"}, restartedWith(func(string) []string { return nil }))(ctx, t, dir)
	sendCommand(ctx, s.redis, "CONFIG", "SET", "appendonly", "yes")
	return s
}

// restoredRedis keeps a dump, and starts with it when it is old.
func restoredRedis(ctx context.Context, t *harness.Run, dir string) damagedStore {
	s := oneRedis(nil, restartedWith(func(dir string) []string {
		return []string{"--dir", filepath.Join(dir, "dump"), "--appendonly", "no"} // otherwise it reads no dump
	}))(ctx, t, dir)
	s.takes = 20 * time.Second
	s.prepare = func(ctx context.Context) {
		harness.Check(os.Mkdir(filepath.Join(dir, "dump"), 0o700))
		sendCommand(ctx, s.redis, "SAVE")
		data := harness.OK(os.ReadFile(filepath.Join(dir, fmt.Sprint(s.redis.Port), "dump.rdb")))
		timing.Pause(ctx, s.takes)
		harness.Check(os.WriteFile(filepath.Join(dir, "dump", "dump.rdb"), data, 0o600))
	}
	return s
}

// replacedRedis makes another store, and starts with its files.
func replacedRedis(ctx context.Context, t *harness.Run, dir string) damagedStore {
	s := oneRedis(nil, restartedWith(func(dir string) []string { return []string{"--dir", filepath.Join(dir, "other")} }))(ctx, t, dir)
	s.prepare = func(ctx context.Context) {
		sub := filepath.Base(dir)
		var other *redistest.Server
		t.Part("another store", func() {
			other = t.StartRedis(filepath.Join(sub, "tmp"))
			n := t.PrepareNodes(filepath.Join(sub, "logs-of-other"), 1, "redis://"+other.Addr)
			n.StartAll(ctx)
			harness.Check(n.StopAll(25 * time.Second))
			other.Stop()
		})
		harness.Check(os.Rename(filepath.Join(dir, "tmp", fmt.Sprint(other.Port)), filepath.Join(dir, "other")))
	}
	return s
}

// sentinelRedis empties the replicas of a master without its knowledge, and then
// kills the master.
func sentinelRedis(_ context.Context, t *harness.Run, dir string) damagedStore {
	w := &sentinelGroup{Sentinels: startSentinels(t, dir, false)}
	return damagedStore{url: w.url(), strike: func(ctx context.Context) *redistest.Server {
		detachReplicas(ctx, w.Servers[0])
		for _, r := range w.Servers[1:] {
			sendCommand(ctx, r, "CONFIG", "SET", "replica-read-only", "no")
			sendCommand(ctx, r, "FLUSHALL")
		}
		w.Servers[0].Kill()
		ctx, stop := context.WithTimeout(ctx, strikeWithin)
		defer stop()
		harness.Check(redistest.Poll(ctx, w.promoted))
		return w.Servers[w.next]
	}}
}

// clusterRedis kills one of three masters, and starts it again without its file.
func clusterRedis(_ context.Context, t *harness.Run, dir string) damagedStore {
	c := startCluster(t, dir, 3, 0)
	return damagedStore{url: "redis+cluster://" + strings.Join(c.Addrs(), ","), strike: func(ctx context.Context) *redistest.Server {
		c.Servers[1].Kill()
		harness.Check(c.Servers[1].Restart("--appendonly", "no"))
		harness.Check(c.Await(ctx))
		return nil
	}}
}

func damageEach(ctx context.Context, t *harness.Run, all []damage) {
	for _, d := range all {
		t.Part(d.name, func() { strikeStore(ctx, t, d) })
	}
}

// strikeStore lets one damage happen.
func strikeStore(ctx context.Context, t *harness.Run, d damage) {
	dir := t.Path(d.dir)
	harness.Check(os.MkdirAll(dir, 0o700))
	s := d.open(ctx, t, dir)
	st := t.OpenLogs(d.dir + "/logs")
	group := startKinds(ctx, st, s.url)
	// Every copy of the store has these tasks. They are due after the damage.
	due := time.Now().Add(s.takes + 15*time.Second)
	old := createAtAll(ctx, st, group, "old", due)
	if s.prepare != nil {
		s.prepare(ctx)
	}
	for _, n := range group {
		n.ask(ctx)
		t.Cleanup(n.stop)
	}
	timing.Pause(ctx, time.Second)
	// When they come due, the servers have noticed the damage, or cannot reach the Redis.
	soon := createAtAll(ctx, st, group, "new", time.Now().Add(4*time.Second))
	emptied := s.strike(ctx)
	back := time.Now()
	timing.Pause(ctx, 6*time.Second)
	t.Note("%s:", d.name)
	for _, n := range group {
		n.judge(t, d, back)
	}
	if d.mend != nil {
		mendStore(ctx, t, d, group, s.redis)
		timing.Until(ctx, due)
		st.Receiver.AwaitAll(ctx, old, 10*time.Second)
	}
	sentOld, sentSoon := countSent(st, old), countSent(st, soon)
	t.Note("%d accepted long before, sent %d; %d accepted just before, sent %d", len(old), sentOld, len(soon), sentSoon)
	switch {
	case d.mend == nil:
		t.Must(sentSoon+sentOld == 0, "a closed store sends nothing")
	case d.rolledBack: // tasks accepted after the copy are lost, as the page says
		t.Must(sentOld == len(old), "the tasks in the copy are delivered")
	default:
		t.Must(sentOld == len(old) && sentSoon == len(soon), "nothing that was accepted is lost")
	}
	if emptied != nil {
		size, err := redistest.Command(ctx, emptied.Addr, "DBSIZE")
		t.Must(err == nil && size == ":0", "keys that the servers wrote into the emptied Redis: %s", size)
	}
}

// mendStore repairs the Redis, and prints when the servers are ready again.
func mendStore(ctx context.Context, t *harness.Run, d damage, group []*lossNode, r *redistest.Server) {
	sendCommand(ctx, r, d.mend...)
	began := time.Now()
	for _, n := range group {
		if _, err := n.Ready(ctx, noticedIn); err != nil {
			t.Must(false, "ready again: %v", err)
			return
		}
	}
	t.Must(true, "%s: all ready again after %v", strings.Join(d.mend, " "), time.Since(began).Round(time.Millisecond))
}

// createAtAll creates 20 tasks at all servers in round-robin order, and returns
// their names.
func createAtAll(ctx context.Context, st *harness.Environment, group []*lossNode, prefix string, due time.Time) []string {
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
		n := group[i%len(group)]
		if a := ask(ctx, n.client, n.fields, http.MethodPost, "/tasks", harness.Task(names[i], st.Receiver.URL(), due)); a.status/100 != 2 {
			harness.Fatalf("create a task%s", a.quoted())
		}
	}
	return names
}

func countSent(st *harness.Environment, names []string) (count int) {
	for _, name := range names {
		count += min(st.Receiver.Arrivals(name), 1)
	}
	return count
}
