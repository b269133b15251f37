package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	// A kill comes so long before its tick at most, or after: an instant is dealt with, synced,
	// sent, answered and settled in this time.
	killBeforeTick, killAfterTick = 20 * time.Millisecond, 60 * time.Millisecond
	// A quarter of the kills come so soon after a start, which makes up for what was missed.
	killAfterStart = 600 * time.Millisecond
	// After an eighth of them nobody starts the server for up to so long: instants pass.
	longDown = 3 * time.Second
)

// tickers are schedules that fire every second from their start on, and make up for every
// instant: some count elapsed time, and as many look at the clock.
type tickers struct {
	start time.Time
	names []string
}

// startTickers makes 2·pairs of them.
func (st *stage) startTickers(ctx context.Context, pairs int) (k tickers, err error) {
	k.start = timing.DueIn(3 * time.Second).Truncate(time.Second)
	in := wire.ScheduleInput{
		Start: wire.FormatTime(k.start), Misfire: "fire_all", CatchupLimit: 10_000,
		Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: st.receiver.URL()}},
	}
	every, cron := in, in
	every.Every, cron.Cron = "1s", "* * * * * *"
	for i := range pairs {
		names := []string{fmt.Sprintf("every-%d", i), fmt.Sprintf("cron-%d", i)}
		k.names = append(k.names, names...)
		if err := st.client.putSchedule(ctx, names[0], every); err != nil {
			return k, err
		}
		if err := st.client.putSchedule(ctx, names[1], cron); err != nil {
			return k, err
		}
	}
	timing.Until(ctx, k.start)
	return k, nil
}

// stopTickers ends them, and writes down what they promised.
func (st *stage) stopTickers(ctx context.Context, k tickers) error {
	for _, name := range k.names {
		if err := st.promiseInstants(ctx, name, k.start); err != nil {
			return err
		}
	}
	return nil
}

// ticks: kill -9 around the ticks of schedules that fire every second.
func ticks(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()

	k, err := st.startTickers(ctx, 1)
	if err != nil {
		return err
	}
	if err := st.killAtTicks(ctx, t.opts.ticks); err != nil {
		return err
	}
	timing.Pause(ctx, 5*time.Second) // for what is to be made up for
	if err := st.stopTickers(ctx, k); err != nil {
		return err
	}
	if err := st.awaitPromised(ctx, 60*time.Second); err != nil {
		return err
	}
	timing.Pause(ctx, 2*time.Second) // what comes twice would come by now
	if err := st.server.stop(25 * time.Second); err != nil {
		return err
	}
	v, err := st.judge()
	if err != nil {
		return err
	}
	t.note("kills %d, duplicates %d, by one kill at most %d", v.Faults, v.Duplicates, v.MostPerFault)
	t.lateness("of first arrivals, downtime included", v.Late)
	return st.mustKnowAll()
}

// ticksOfNodes: kill -9 of one of three nodes on Redis, again and again, while schedules of
// all of them fire every second.
func ticksOfNodes(ctx context.Context, t *trial) error {
	n, err := t.onRedis(ctx, ".", 3)
	if err != nil {
		return err
	}
	defer n.close()

	n.client = newClient(n.list[0].url())
	k, err := n.startTickers(ctx, 6)
	if err != nil {
		return err
	}
	if err := n.killRepeatedly(ctx, t.opts.deaths); err != nil {
		return err
	}
	timing.Pause(ctx, t.opts.shardLease+5*time.Second)
	if err := n.stopTickers(ctx, k); err != nil {
		return err
	}
	if _, err := n.conclude(ctx); err != nil {
		return err
	}
	return errors.Join(n.mustKnowAll(), n.mustDelays())
}

// putSchedule makes a schedule.
func (c *client) putSchedule(ctx context.Context, name string, in wire.ScheduleInput) error {
	return c.do(ctx, http.MethodPut, "/schedules/"+name, in, nil)
}

// killAtTicks leaves a running server behind.
func (st *stage) killAtTicks(ctx context.Context, kills int) error {
	for i := range kills {
		at, err := st.aim(ctx)
		if err != nil {
			return err
		}
		if !timing.Until(ctx, at) {
			return ctx.Err()
		}
		if err := st.faults.Append(verify.Fault{Kind: "kill -9", At: st.server.killNow()}); err != nil {
			return err
		}
		st.server.reap()
		if st.t.rand.IntN(8) == 0 {
			timing.Pause(ctx, time.Duration(st.t.rand.Int64N(int64(longDown))))
		}
		if err := st.server.start(); err != nil {
			return err
		}
		if (i+1)%max(20, kills/20) == 0 {
			st.t.note("killed %d times", i+1)
		}
	}
	_, err := st.server.ready(ctx, 20*time.Second)
	return err
}

// aim returns when the server, which was started just now, is to be killed.
func (st *stage) aim(ctx context.Context) (time.Time, error) {
	if st.t.rand.IntN(4) == 0 {
		return time.Now().Add(time.Duration(st.t.rand.Int64N(int64(killAfterStart)))), nil
	}
	if _, err := st.server.ready(ctx, 20*time.Second); err != nil {
		return time.Time{}, err
	}
	tick := time.Now().Add(killBeforeTick + 100*time.Millisecond).Truncate(time.Second).Add(time.Second)
	return tick.Add(time.Duration(st.t.rand.Int64N(int64(killBeforeTick+killAfterTick))) - killBeforeTick), nil
}

// promiseInstants ends a schedule, and writes down what it promised: an occurrence for each
// second from its start until then.
func (st *stage) promiseInstants(ctx context.Context, name string, start time.Time) error {
	var s wire.Schedule
	if err := st.client.do(ctx, http.MethodPost, "/schedules/"+name+"/pause", nil, &s); err != nil {
		return err
	}
	last, err := time.Parse(time.RFC3339Nano, cmp.Or(s.LastAt, wire.FormatTime(start)))
	if err != nil {
		return fmt.Errorf("the last instant of %s: %w", name, err)
	}
	count := int64(0)
	for at := start; !at.After(last); at = at.Add(time.Second) {
		if err := st.accepted.Append(verify.Accepted{Name: name + "@" + strconv.FormatInt(at.UnixMilli(), 10), Due: at, At: start}); err != nil {
			return err
		}
		count++
	}
	behind := time.Since(last)
	runs := int64(-1)
	if s.Runs != nil {
		runs = *s.Runs
	}
	st.t.must(runs == count && behind < 2*time.Second && s.LastSkipped == nil,
		"%s: %d instants, the last one %s ago; %d made an occurrence, skipped %+v", name, count, verify.Millis(behind), runs, s.LastSkipped)
	return nil
}

// mustKnowAll holds the arrivals against the instants: there is no other.
func (st *stage) mustKnowAll() error {
	e, err := st.evidence()
	if err != nil {
		return err
	}
	strangers := e.Unexpected()
	st.t.must(len(strangers) == 0, "of no instant %d%s", len(strangers), verify.Examples(strangers))
	return nil
}
