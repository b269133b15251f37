package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	blackoutLoad = 4 * time.Second // how long there is load before it
	blackoutWake = 2 * time.Second // from the start to the first overdue task
)

// blackout: all nodes are killed at once under load, and started after a while,
// in which tasks come due.
func blackout(ctx context.Context, t *trial) error {
	n, err := t.onRedis(ctx, ".", 3)
	if err != nil {
		return err
	}
	defer n.close()

	load := &killLoad{st: n.stage, to: n.doors, rate: killRate, ahead: blackoutLoad + t.opts.blackout, share: t.opts.cancel}
	loading, quit := context.WithCancel(ctx)
	ended := timing.InBackground(loading, load.run)
	defer ended()
	defer quit()
	if !timing.Pause(ctx, blackoutLoad) {
		return ctx.Err()
	}
	quit() // what is under way meets dead nodes
	for _, s := range n.list {
		if err := n.fault("kill -9", s.killNow()); err != nil {
			return err
		}
	}
	for _, s := range n.list {
		s.reap()
	}
	if !timing.Pause(ctx, t.opts.blackout) {
		return ctx.Err()
	}
	began := time.Now()
	if err := n.startAll(ctx); err != nil {
		return err
	}
	t.note("all nodes ready after %s", verify.Millis(time.Since(began)))
	ended()
	v, err := n.conclude(ctx)
	if err != nil {
		return err
	}
	load.report(t, v)
	return n.mustWake(began)
}

// mustWake judges how soon overdue tasks came after the nodes were started.
func (n *nodes) mustWake(began time.Time) error {
	e, err := n.evidence()
	if err != nil {
		return err
	}
	due := map[string]bool{} // when they were started
	for _, a := range e.Accepted {
		due[a.Name] = a.Due.Before(began)
	}
	count, first, last := 0, time.Duration(-1), time.Duration(0)
	for _, a := range e.Arrived {
		if a.At.Before(began) || !due[a.Name] {
			continue
		}
		since := a.At.Sub(began)
		if count++; first < 0 || since < first {
			first = since
		}
		last = max(last, since)
	}
	n.t.must(count > 0 && first <= blackoutWake, "the first of %d overdue tasks came %s after the start, at most %v; the last %s", count, verify.Millis(first), blackoutWake, verify.Millis(last))
	return nil
}
