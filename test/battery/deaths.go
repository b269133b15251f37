package main

import (
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
)

// nodeDeaths: kill -9 of one node after another, in the middle of a start too,
// while tasks are created at all of them, delivered and cancelled.
func nodeDeaths(ctx context.Context, t *trial) error {
	n, err := t.onRedis(ctx, ".", 3)
	if err != nil {
		return err
	}
	defer n.close()

	load := &killLoad{st: n.stage, to: n.doors, rate: killRate, share: t.opts.cancel}
	v, err := n.concludeUnder(ctx, load, func() error { return n.killRepeatedly(ctx, t.opts.deaths) })
	if err != nil {
		return err
	}
	load.report(t, v)
	return n.mustDelays()
}

// killRepeatedly kills one node at a time, and starts it again. Between two
// deaths there is time for what the first has delayed that nobody had in his
// hands, so that its lateness has one cause.
func (n *nodes) killRepeatedly(ctx context.Context, deaths int) error {
	o := n.t.opts
	for i := range deaths {
		victim := n.list[n.t.rand.IntN(len(n.list))]
		if !timing.Pause(ctx, n.between(1, 1.5, o.shardLease+time.Second)) {
			return ctx.Err()
		}
		if err := n.kill(victim); err != nil {
			return err
		}
		if !timing.Pause(ctx, n.between(0, 1.5, o.shardLease)) {
			return ctx.Err()
		}
		if err := n.revive(ctx, victim, i%starts == 0); err != nil {
			return err
		}
		if (i+1)%max(4, deaths/20) == 0 {
			n.t.note("killed %d times", i+1)
		}
	}
	return nil
}

const (
	starts    = 5 // of so many deaths one is followed by one in the middle of the start
	startLife = 50 * time.Millisecond
)

// revive starts a node that was killed, and returns when it is ready. With
// again, the first process that it starts is killed at once.
func (n *nodes) revive(ctx context.Context, victim *server, again bool) error {
	if again {
		if err := victim.start(); err != nil {
			return err
		}
		timing.Pause(ctx, n.between(0, 1, startLife))
		if err := n.kill(victim); err != nil {
			return err
		}
	}
	return victim.run(ctx)
}

// kill kills a node and writes that down.
func (n *nodes) kill(victim *server) error {
	at := victim.killNow()
	victim.reap()
	return n.fault("kill -9", at)
}

// between returns a time between two multiples of d.
func (n *nodes) between(low, high float64, d time.Duration) time.Duration {
	return time.Duration((low + n.t.rand.Float64()*(high-low)) * float64(d))
}
