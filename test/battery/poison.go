package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// poison: a task whose attempt kills the server, again and again, beside tasks
// that do not. Some of these are slow: they are under way beside it, and each
// death of the server may be theirs as well.
func poison(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()

	const name, slow, reclaims = "poison", "slow", 10
	attempts := make(chan time.Time)
	st.receiver.Before = func(task string) {
		switch {
		case task == name:
			timing.Pause(ctx, 50*time.Millisecond) // those that are slow are under way by now
			attempts <- st.server.killNow()
		case strings.HasPrefix(task, slow):
			timing.Pause(ctx, 500*time.Millisecond)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	start := timing.DueIn(time.Second)
	if err := st.client.createAll(ctx, oneTask(name, st.receiver.URL(), start)); err != nil {
		return err
	}
	neighbours, err := st.schedule(ctx, 50, "neighbour", func(i int) time.Time {
		return start.Add(time.Duration(i*40-200) * time.Millisecond)
	})
	if err != nil {
		return err
	}
	beside, err := st.schedule(ctx, 5, slow, func(int) time.Time { return start })
	if err != nil {
		return err
	}
	killed, err := st.surviveKills(ctx, name, attempts)
	if err != nil {
		return err
	}
	missing := st.receiver.AwaitAll(ctx, neighbours, 20*time.Second)
	task, err := st.client.get(ctx, name)
	if err != nil {
		return err
	}
	t.must(task.State == "dead" && task.Reclaims == reclaims, "the task is %s (%s) after %d reclaims, promised: dead after %d", task.State, task.Reason, task.Reclaims, reclaims)
	// The first claim after a clean start need not be on the disk when it is
	// sent: the kill that follows may go uncounted.
	t.must(killed >= reclaims && killed <= reclaims+1, "it killed the server %d times", killed)
	t.must(missing == 0, "neighbours delivered %d of %d", len(neighbours)-missing, len(neighbours))
	delivered, arrivals := st.fates(ctx, beside, 20*time.Second)
	t.must(delivered == len(beside), "slow neighbours, under way beside it, delivered %d of %d; they arrived %v times", delivered, len(beside), arrivals)
	if err := st.server.stop(10 * time.Second); err != nil {
		return err
	}
	v, err := st.judge()
	if err != nil {
		return err
	}
	t.note("duplicates of neighbours %d", v.Duplicates)
	return nil
}

// fates returns how many of the tasks are delivered before patience ends, and
// how often each has arrived. That one has arrived does not settle it: the
// server may have died since.
func (st *stage) fates(ctx context.Context, names []string, patience time.Duration) (delivered int, arrivals []int) {
	deadline := time.Now().Add(patience)
	for _, name := range names {
		for {
			task, err := st.client.get(ctx, name)
			if err == nil && task.State == "delivered" {
				delivered++
				break
			}
			if time.Now().After(deadline) || !timing.Pause(ctx, 50*time.Millisecond) {
				break
			}
		}
		arrivals = append(arrivals, st.receiver.Arrivals(name))
	}
	return delivered, arrivals
}

// surviveKills starts the server again after each kill until the task is dead,
// and returns how often that was needed.
func (st *stage) surviveKills(ctx context.Context, name string, attempts <-chan time.Time) (kills int, err error) {
	for {
		select {
		case at := <-attempts:
			kills++
			if err := st.faults.Append(verify.Fault{Kind: "kill -9 by " + name, At: at}); err != nil {
				return kills, err
			}
			st.server.reap()
			if err := st.server.start(); err != nil {
				return kills, err
			}
		case <-time.After(100 * time.Millisecond):
			if task, err := st.client.get(ctx, name); err == nil && task.State == "dead" {
				return kills, nil
			}
		case <-ctx.Done():
			return kills, fmt.Errorf("%s was not dead after %d kills", name, kills)
		}
	}
}
