package directory

import (
	"context"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Poison: one task kills the server at each attempt. Other tasks do not. Some of
// these are slow, so they are under way at the same time, and each crash counts
// against them too.
func Poison(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	const name, slow, reclaims = "poison", "slow", 10
	attempts := make(chan time.Time)
	st.Receiver.Before = func(task string) {
		switch {
		case task == name:
			timing.Pause(ctx, 50*time.Millisecond) // now the slow tasks are under way
			attempts <- st.Server.KillNow()
		case strings.HasPrefix(task, slow):
			timing.Pause(ctx, 500*time.Millisecond)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	start := timing.DueIn(time.Second)
	harness.Check(st.Client.CreateAll(ctx, oneTask(name, st.Receiver.URL(), start)))
	neighbours := st.Schedule(ctx, 50, "neighbour", func(i int) time.Time {
		return start.Add(time.Duration(i*40-200) * time.Millisecond)
	})
	beside := st.Schedule(ctx, 5, slow, func(int) time.Time { return start })
	killed := surviveKills(ctx, st, name, attempts)
	missing := st.Receiver.AwaitAll(ctx, neighbours, 20*time.Second)
	task := harness.OK(st.Client.Get(ctx, name))
	t.Must(task.State == "dead" && task.Reclaims == reclaims, "the task is %s (%s) after %d reclaims, promised: dead after %d", task.State, task.Reason, task.Reclaims, reclaims)
	// The first task after a clean start may be sent before its claim is on the
	// disk. Then the kill that follows is not counted.
	t.Must(killed >= reclaims && killed <= reclaims+1, "it killed the server %d times", killed)
	t.Must(missing == 0, "neighbours delivered %d of %d", len(neighbours)-missing, len(neighbours))
	delivered, arrivals := fates(ctx, st, beside, 20*time.Second)
	t.Must(delivered == len(beside), "slow tasks, under way at the same time, delivered %d of %d; they arrived %v times", delivered, len(beside), arrivals)
	v := st.Conclude(ctx, harness.Phases{})
	t.Note("duplicates of neighbours %d", v.Duplicates)
}

// fates returns how many of the tasks are delivered before patience ends, and
// how often each has arrived. An arrival does not mean that the task is
// delivered, because the server may have died after it.
func fates(ctx context.Context, st *harness.Environment, names []string, patience time.Duration) (delivered int, arrivals []int) {
	deadline := time.Now().Add(patience)
	for _, name := range names {
		for {
			task, err := st.Client.Get(ctx, name)
			if err == nil && task.State == "delivered" {
				delivered++
				break
			}
			if time.Now().After(deadline) || !timing.Pause(ctx, 50*time.Millisecond) {
				break
			}
		}
		arrivals = append(arrivals, st.Receiver.Arrivals(name))
	}
	return delivered, arrivals
}

// surviveKills starts the server again after each kill until the task is dead,
// and returns how often that was needed.
func surviveKills(ctx context.Context, st *harness.Environment, name string, attempts <-chan time.Time) (kills int) {
	for {
		select {
		case at := <-attempts:
			kills++
			st.RecordFault("kill -9 by "+name, at)
			st.Server.Reap()
			harness.Check(st.Server.Start())
		case <-time.After(100 * time.Millisecond):
			if task, err := st.Client.Get(ctx, name); err == nil && task.State == "dead" {
				return kills
			}
		case <-ctx.Done():
			harness.Fatalf("%s was not dead after %d kills", name, kills)
		}
	}
}

// oneTask returns a batch with one task.
func oneTask(name, callback string, due time.Time) []wire.TaskInput {
	return []wire.TaskInput{harness.Task(name, callback, due)}
}
