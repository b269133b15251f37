package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/server"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/task"
)

// clockTasks creates tasks that a wrong clock could end too early.
func clockTasks(p *process, url string) {
	p.must("queue", "pause", "paused")
	p.must("add", url, "--in", "1s", "--name", "never-tried", "--queue", "paused", "--expire-after", "1h")
	p.must("add", url, "--in", "1h", "--name", "done")
	p.must("cancel", "done")
	p.must("add", "http://127.0.0.1:9/", "--in", "0s", "--name", "retried", "--max-age", "30m", "--min-backoff", "25m", "--max-backoff", "25m")
	servertest.Eventually(p.t, "the first attempt has failed", func() bool { return len(p.task("retried").Attempts) == 1 })
}

// wantClockTasks checks that none of clockTasks has ended.
func wantClockTasks(p *process) {
	p.t.Helper()
	p.foliot("move", "retried", "--now") // refused if the retry is due at the new time, and is running
	servertest.Eventually(p.t, "the second attempt has failed", func() bool { return len(p.task("retried").Attempts) > 1 })
	if got := p.task("retried"); got.State != "scheduled" {
		p.t.Errorf("a task that is tried again is %s (%s)", got.State, got.Reason)
	}
	if out := p.must("get", "done"); out == "" {
		p.t.Error("the record of a task that was cancelled a moment ago is gone")
	}
	if state := p.task("never-tried").State; state != "held" {
		p.t.Errorf("a task that was never tried is %s", state)
	}
	p.must("queue", "resume", "paused")
	p.must("get", "never-tried", "--wait")
	if state := p.task("never-tried").State; state != "delivered" {
		p.t.Errorf("a task that was never tried is %s", state)
	}
}

func TestNothingEndsOrIsSentTwiceWhenTheClockOfRedisGoesAhead(t *testing.T) {
	quick.Leave(t, "waits for leases")
	for _, ahead := range []time.Duration{20 * time.Second, 48 * time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			clock := redistest.NewClock(t)
			r := clock.New()
			clockGoesAhead(t, "redis://"+r.Addr, "2s", func() { clock.Set(ahead) })
		})
	}
}

func TestNothingEndsOrIsSentTwiceWhenAPromotedReplicasClockIsAhead(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, 24 * time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			t.Parallel()
			clock := redistest.NewClock(t)
			clock.Set(ahead)
			s := clock.NewSentinels()
			url := "redis+sentinel://" + s.Sentinels[0].Addr + "," + s.Sentinels[1].Addr + "/" + redistest.MasterName
			clockGoesAhead(t, url, "6s", func() { s.Servers[0].Kill() })
		})
	}
}

// clockGoesAhead sets the clock of Redis ahead while two servers have running
// attempts. It checks that no attempt is repeated and no task ends. A third
// server starts during this time. Another server has just died, and its
// attempts are taken back by the old time, which proves that leases are
// checked.
func clockGoesAhead(t *testing.T, url, shardLease string, goAhead func()) {
	const attempts = 8
	hook := servertest.NewReceiver(t)
	seen := map[string]int{}
	add := func(p *process, prefix string) {
		for i := range attempts {
			p.must("add", hook.URL, "--in", "0s", "--name", fmt.Sprint(prefix, i), "--timeout", "2m")
		}
		for range attempts {
			seen[hook.Next(t)]++
		}
	}
	dies := serveProcess(t, "--listen", anyPort, "--store", url, "--node", "dies", "--shard-lease", shardLease)
	add(dies, "lost")
	nodes := []*process{redisNode(t, url, "--node", "a", "--shard-lease", shardLease), redisNode(t, url, "--node", "b", "--shard-lease", shardLease)}
	a := nodes[0]
	a.must("cluster", "drain", "dies")
	servertest.Eventually(t, "the drained server has no shards", func() bool { return !strings.Contains(a.must("cluster", "shards"), "dies") })
	add(a, "t")
	clockTasks(a, hook.URL)
	for _, p := range nodes {
		servertest.Eventually(t, "the server knows of the pause", func() bool { return strings.Contains(p.must("queue", "get", "paused", "-o", "json"), `"paused":true`) })
	}
	dies.kill()
	goAhead()
	for _, p := range nodes {
		p.await("the clock went ahead")
	}
	late := redisNode(t, url, "--node", "late", "--shard-lease", shardLease)
	for range attempts {
		seen[hook.Next(t)]++
	}
	hook.Release()
	for i := range attempts {
		late.must("get", fmt.Sprint("t", i), "--wait")
	}
	for _, name := range drained(hook) {
		seen[name]++
	}
	for i := range attempts {
		name := fmt.Sprint("t", i)
		if got := late.task(name); got.State != "delivered" || seen[name] != 1 || got.Reclaims != 0 {
			t.Errorf("%s is %s, came %d times, and was taken back %d times", name, got.State, seen[name], got.Reclaims)
		}
		if name := fmt.Sprint("lost", i); seen[name] != 2 {
			t.Errorf("%s, whose server died, came %d times", name, seen[name])
		}
	}
	wantClockTasks(late)
}

// drained returns the names of the callbacks that have arrived so far.
func drained(h *servertest.Receiver) (names []string) {
	for {
		select {
		case name := <-h.Arrived:
			names = append(names, name)
		default:
			return names
		}
	}
}

func TestNothingEndsWhenTheClockOfTheMachineIsAheadForAMoment(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	var ahead atomic.Int64
	cfg := config.Config{Addr: anyPort, Dir: t.TempDir(), Dispatch: dispatch.Config{Slots: 1, Grace: -1, BreakerFailures: -1}}
	cfg.Store.Keep.KeepFinished = time.Hour
	n, err := server.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	n.Node.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	p := &process{t: t, url: "http://" + n.Addr().String()}
	clockTasks(p, hook.URL)
	past, r := task.FloorMillis(time.Now().Add(-2*time.Hour)), history.New("past")
	r.Attempt(past, &task.Task{}, &task.Outcome{}, nil)
	fatal.If(t, r.Flush(t.Context(), n.Node.Store, past))
	ahead.Store(int64(48 * time.Hour))
	n.Node.FlushHistory(t.Context())
	if parts, err := n.Node.Store.History(t.Context(), false, 0, past+1); err != nil || len(parts) != 1 {
		t.Errorf("minutes of the history: %v, %v", parts, err)
	}
	p.must("queue", "resume", "paused") // so that a task is claimed while the clock is ahead
	p.must("get", "never-tried", "--wait")
	swept, err := n.Node.Store.Sweep(t.Context(), task.FloorMillis(n.Node.Trusted()), 100)
	if err != nil || swept != 0 {
		t.Errorf("removed %d records, error %v", swept, err)
	}
	ahead.Store(0)
	if state := p.task("never-tried").State; state != "delivered" {
		t.Errorf("a task that was never tried is %s", state)
	}
	p.must("get", "done")
}
