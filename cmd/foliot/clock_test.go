package main

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// blip is how long a clock is ahead: several times as long as the time between two looks for
// leases that have ended.
const blip = 4 * redisReap

// clockTasks gives a server the tasks that a wrong clock could end.
func clockTasks(p *process, url string) {
	p.must("queue", "pause", "paused") // which every server knows within a second
	p.must("add", url, "--in", "1s", "--name", "never-tried", "--queue", "paused", "--expire-after", "1h")
	p.must("add", url, "--in", "1h", "--name", "done")
	p.must("cancel", "done")
}

// wantClockTasks checks that none of clockTasks has ended.
func wantClockTasks(p *process) {
	p.t.Helper()
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

// Two servers have attempts under way when Redis's clock goes ahead. A third one starts meanwhile.
func TestNothingEndsOrIsSentTwiceWhenTheClockOfRedisGoesAhead(t *testing.T) {
	const attempts = 8
	for _, ahead := range []time.Duration{20 * time.Second, 48 * time.Hour} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			clock, hook := redistest.NewClock(t), newHook(t)
			r := clock.New()
			url := "redis://" + r.Addr
			nodes := []*process{redisNode(t, url, "--node", "a", "--lease", "5s"), redisNode(t, url, "--node", "b", "--lease", "5s")}
			a := nodes[0]
			clockTasks(a, hook.URL)
			for i := range attempts {
				a.must("add", hook.URL, "--in", "0s", "--name", fmt.Sprint("t", i), "--timeout", "2m")
			}
			seen := map[string]int{}
			for range attempts {
				seen[hook.next(t)]++
			}
			clock.Set(ahead)
			for _, p := range nodes {
				p.await("the clock went ahead")
			}
			late := redisNode(t, url, "--node", "late", "--lease", "5s")
			time.Sleep(blip) // by it something could be taken back
			hook.release()
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
			}
			clock.Set(0)
			wantClockTasks(late)
		})
	}
}

// drained returns the names of the callbacks that have come by now.
func drained(h *hook) (names []string) {
	for {
		select {
		case name := <-h.arrived:
			names = append(names, name)
		default:
			return names
		}
	}
}

func TestNothingEndsWhenTheClockOfTheMachineIsAheadForAMoment(t *testing.T) {
	hook := newHook(t)
	hook.release()
	var ahead atomic.Int64
	cfg := testConfig()
	cfg.dir, cfg.keep.KeepFinished = t.TempDir(), time.Hour
	n := runNodeWith(t, cfg, slog.New(slog.DiscardHandler), func(n *node) {
		n.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	p := &process{t: t, url: "http://" + n.listener.Addr().String()}
	clockTasks(p, hook.URL)
	ahead.Store(int64(48 * time.Hour))
	p.must("queue", "resume", "paused") // the task is claimed while the clock is ahead
	p.must("get", "never-tried", "--wait")
	swept, err := n.store.Sweep(t.Context(), task.FloorMillis(n.trusted()), 100)
	if err != nil || swept != 0 {
		t.Errorf("removed %d records, error %v", swept, err)
	}
	ahead.Store(0)
	if state := p.task("never-tried").State; state != "delivered" {
		t.Errorf("a task that was never tried is %s", state)
	}
	p.must("get", "done")
}
