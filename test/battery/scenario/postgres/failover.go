package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Failover replaces the primary of three servers again and again: it is killed, or cut
// off from its standbys while the nodes still reach it. At the level strict, nothing that
// was acknowledged may be lost, even if the waits for a standby are cancelled.
//
// The control does the same at the level default. Then PostgreSQL commits tasks
// that no standby has, and they must be lost, or the absence of losses proves nothing.
func Failover(ctx context.Context, t *harness.Run) {
	splits := max(1, t.Options.Failovers/5)
	for _, s := range []struct {
		level, fault string
		runs         int
	}{{"strict", kill, t.Options.Failovers}, {"strict", split, splits}, {"strict", cancelled, splits}, {"default", cancelled, splits}} {
		var l verify.Losses
		t.Part(s.level+", "+s.fault, func() { l = failover(ctx, t, s.level, s.fault, s.runs) })
		mustKeep(t, l, s.runs)
	}
}

// mustKeep checks the promises of a level, and that a weaker one does lose.
func mustKeep(t *harness.Run, l verify.Losses, runs int) {
	t.Note("%s", l.Row())
	t.Must(len(l.Early) == 0, "%s: early %d%s", l, len(l.Early), verify.Examples(l.Early))
	if l.Level == "strict" {
		t.Must(l.Accepted >= 100*runs && len(l.Lost) == 0, "%s: lost %d of %d answered%s", l, len(l.Lost), l.Accepted, verify.Examples(l.Lost))
		t.Must(len(l.AfterCancel) == 0, "%s: delivered after a cancel's 200: %d%s", l, len(l.AfterCancel), verify.Examples(l.AfterCancel))
	} else {
		t.Must(len(l.Lost) > 0, "%s: lost %d of %d answered: the control, such losses are seen", l, len(l.Lost), l.Accepted)
	}
}

// The faults of a primary.
const (
	kill      = "kill -9"
	split     = "split"
	cancelled = "split, waits cancelled"
)

// group is a primary, the first one, and its standbys.
type group []*pgtest.Server

var names = []string{"a", "b", "c"}

func failover(ctx context.Context, t *harness.Run, level, fault string, runs int) verify.Losses {
	g := group{start(ctx, t, "synchronous_standby_names=ANY 1 (a, b, c)", "synchronous_commit=local")}
	for range 2 {
		s := harness.OK(g[0].Standby(names[len(g)]))
		t.Cleanup(s.Close)
		g = append(g, s)
	}
	n := t.PrepareNodes(level+"-"+fault, 2, pgtest.Hosts(g...), "--durability", level)
	n.StartAll(ctx)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: loadRate, CancelShare: 0.05, DueWithin: 5 * time.Second}
	var struck []verify.FailoverRun
	n.Carry(ctx, harness.Phases{Load: load, WarmUp: time.Second, Drain: 30 * time.Second, Quiet: 5 * time.Second, Attack: func() {
		for i := range runs {
			t.Part(fmt.Sprintf("run %d", i+1), func() { struck = append(struck, g.replace(ctx, n, fault)) })
		}
	}})
	harness.Check(n.Servers[0].Run(ctx))
	attempts, created := n.History(ctx, 0)
	harness.Check(n.Servers[0].Stop(25 * time.Second))
	e := n.Evidence()
	t.Note("the history has %d attempts of %d, and %d creates of %d", attempts, len(e.Arrived), created, len(e.Accepted))
	t.Must(100*attempts >= 99*len(e.Arrived), "the history has 99 %% of the attempts")
	return verify.JudgeLosses(level, fault, struck, e)
}

// replace strikes the primary, promotes the standby with the most WAL, and returns when
// creates are answered and the old primary is a standby.
func (g group) replace(ctx context.Context, n *harness.Environment, fault string) (r verify.FailoverRun) {
	r.Began = time.Now()
	harness.Pause(ctx, between(n.Run, time.Second, 2*time.Second))
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	old := g[0]
	r.At = time.Now()
	n.RecordFault(fault, r.At)
	if fault == kill {
		old.Kill()
	} else {
		for _, s := range g[1:] {
			harness.Check(s.Follow(ctx, nil, ""))
		}
		cancels := func(context.Context) {}
		if fault == cancelled {
			cancels = func(ctx context.Context) {
				for timing.Pause(ctx, 20*time.Millisecond) {
					_, _ = pgtest.Psql(ctx, old.URL(), "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") // ended by ctx
				}
			}
		}
		end := timing.InBackground(ctx, cancels)
		harness.Pause(ctx, between(n.Run, time.Second, 2*time.Second))
		end()
	}
	g.promote(ctx)
	if fault != kill { // two primaries take writes for a while
		harness.Pause(ctx, time.Second)
		old.Kill()
	}
	answered(ctx, n)
	harness.Check(old.Copy(g[0], names[1]))
	harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
		if n := psql(ctx, g[0], "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'"); n != "2" {
			return fmt.Errorf("of 2 standbys %s replicate", n)
		}
		return nil
	}))
	return r
}

// answered waits until creates are answered again.
func answered(ctx context.Context, n *harness.Environment) {
	goal := n.Promises.Load() + 100
	harness.Check(redistest.Poll(ctx, func(context.Context) error {
		if missing := goal - n.Promises.Load(); missing > 0 {
			return fmt.Errorf("creates are not answered any more: %d to go", missing)
		}
		return nil
	}))
}

// promote makes the standby with the most WAL the primary, which the other one follows.
func (g group) promote(ctx context.Context) {
	const received = "SELECT (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::bigint"
	next, other := g[1], g[2]
	for _, s := range g[1:] { // what is on its way to one of them may be more than the other has
		harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
			if psql(ctx, s, "SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
				return errors.New("a standby still receives from the old primary")
			}
			return nil
		}))
	}
	if harness.OK(strconv.ParseInt(psql(ctx, other, received), 10, 64)) > harness.OK(strconv.ParseInt(psql(ctx, next, received), 10, 64)) {
		next, other = other, next
	}
	psql(ctx, next, "SELECT pg_promote()")
	harness.Check(other.Follow(ctx, next, names[2]))
	g[0], g[1], g[2] = next, g[0], other
}

// psql runs a statement that must not fail.
func psql(ctx context.Context, s *pgtest.Server, sql string) string {
	return harness.OK(pgtest.Psql(ctx, s.URL(), sql))
}
