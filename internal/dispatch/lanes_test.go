package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// hangs is a receiver. Hosts with names that begin with "dead" hang.
func hangs(ctx context.Context, d task.Delivery) task.Outcome {
	if strings.HasPrefix(d.Task.Request.Destination, "dead") {
		return hang(ctx, d)
	}
	return accept(ctx, d)
}

// wantAliveOnTime checks only the calls of healthy hosts.
func (b *bed) wantAliveOnTime(n int) {
	b.t.Helper()
	seen := 0
	for _, c := range b.seen() {
		if !strings.HasPrefix(c.name, "ok") {
			continue
		}
		if seen++; c.late > tick {
			b.t.Errorf("%s was %v late", c.name, c.late)
		}
	}
	if seen != n {
		b.t.Errorf("%d calls of healthy hosts, want %d", seen, n)
	}
}

// crowd returns creates of n tasks due now.
func crowd(t *testing.T, prefix string, n int, edits ...edit) []task.Change {
	var all []task.Change
	for i := range n {
		all = append(all, task.Create{Spec: spec(t, fmt.Sprintf("%s-%06d", prefix, i), 0, edits...)})
	}
	return all
}

func TestPriorityDecidesAmongDueTasks(t *testing.T) {
	inBubble(t, Config{Slots: 1}, nil, accept, func(b *bed) {
		var all []task.Change
		for i, p := range []task.Priority{task.Low, task.Normal, task.High, task.Low, task.High, task.Normal} {
			all = append(all, task.Create{Spec: spec(b.t, fmt.Sprint(p.String(), i), 0, priority(p))})
		}
		old := task.CeilMillis(time.Now().Add(-time.Hour))
		all = append(all, task.Create{Spec: spec(b.t, "low-and-old", 0, priority(task.Low), at(old))})
		b.apply(all...)
		b.pass(time.Second)
		want := []string{"high2", "high4", "normal1", "normal5", "low-and-old", "low0", "low3"}
		if got := b.names(); !slices.Equal(got, want) {
			t.Errorf("the order was %v, want %v", got, want)
		}
	})
}

// overloaded asks its first caller to wait for wait.
func overloaded(wait time.Duration) receiver {
	var asked atomic.Bool
	return func(ctx context.Context, d task.Delivery) task.Outcome {
		if d.Task.Request.Destination != "busy:80" || asked.Swap(true) {
			return accept(ctx, d)
		}
		return task.Outcome{Verdict: task.Snooze, Status: 429, RetryAfter: wait, StartedAt: millis()}
	}
}

func TestASnoozeDelaysOnlyItsDestination(t *testing.T) {
	inBubble(t, Config{}, nil, overloaded(time.Minute), func(b *bed) {
		b.create("first", 0, to("busy"))
		b.pass(10 * time.Millisecond)
		b.create("second", time.Second, to("busy"))
		b.create("urgent", time.Second, to("busy"), priority(task.High))
		b.create("foreign", time.Second, to("busy"), func(s *task.Spec) { s.Namespace = "other" })
		b.create("elsewhere", time.Second, to("idle"))
		b.pass(59 * time.Second)
		got := b.names()
		slices.Sort(got)
		if want := []string{"elsewhere", "first", "foreign"}; !slices.Equal(got, want) {
			t.Errorf("within the pause came %v, want %v", got, want)
		}
		b.pass(2 * time.Second)
		b.wantCalls(6)
		if first := b.get("first"); first.State != task.Delivered || first.AttemptsUsed != 0 || first.Attempts != 2 {
			t.Errorf("the snoozed task: %+v", first)
		}
		if s := b.Stats(); s.Snoozed != 1 || s.Gone+s.Moved > 0 {
			t.Errorf("stats: %+v", s)
		}
	})
}

func TestASnoozeDelaysItsDestinationNoLongerThanItsTask(t *testing.T) {
	inBubble(t, Config{}, nil, overloaded(24*time.Hour), func(b *bed) {
		b.create("first", 0, to("busy"), retry(task.Retry{MinBackoff: time.Second, MaxBackoff: 10 * time.Second}))
		b.pass(10 * time.Millisecond)
		b.create("second", 0, to("busy"))
		b.pass(9 * time.Second)
		b.wantCalls(1)
		b.pass(2 * time.Second)
		b.wantCalls(3)
	})
}

// slowPeeks replies to each Peek some time after it has read.
type slowPeeks struct {
	store.DispatchStore
	takes time.Duration
}

func (q slowPeeks) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	found, err := q.DispatchStore.Peek(ctx, reads)
	time.Sleep(q.takes)
	return found, err
}

func TestATaskThatIsCreatedWhileItsLaneIsReadIsOnTime(t *testing.T) {
	inBubble(t, Config{Slots: 4000}, func(q store.DispatchStore) store.DispatchStore { return slowPeeks{q, 20 * time.Millisecond} }, accept, func(b *bed) {
		due := at(task.CeilMillis(time.Now().Add(time.Second)))
		b.pass(240 * time.Millisecond)
		for i := range 10 { // over a poll, which reads the lane in two parts
			b.apply(crowd(t, fmt.Sprint("t", i), 40, due)...)
			b.pass(5 * time.Millisecond)
		}
		b.pass(2 * time.Second)
		b.wantCalls(400)
		b.wantLate(tick)
	})
}

// TestManyLanesDoNotDelayTheSurvey: until all lanes had been read once, no
// other lane was surveyed. A task that came near during that time was not
// found.
func TestManyLanesDoNotDelayTheSurvey(t *testing.T) {
	const takes, lanes = time.Second, 1000
	slow := func(q store.DispatchStore) store.DispatchStore { return slowPeeks{q, takes} }
	inBubble(t, Config{}, slow, accept, func(b *bed) {
		b.store.Watch(store.Watcher{Tasks: func([]task.Entry) {}}) // as after a restart: no hints
		changes := make([]task.Change, lanes)
		for i := range changes {
			changes[i] = task.Create{Spec: spec(t, fmt.Sprint("t", i), 0, to(fmt.Sprint("host", i)))}
		}
		if _, err := b.store.Transit(t.Context(), millis(), store.Changes(changes)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(takes)
		before := b.Stats().Polls
		time.Sleep(3*takes - takes/2)
		if n := b.Stats().Polls - before; n < 2 {
			t.Errorf("%d surveys while lanes were read for %v", n, 3*takes)
		}
	})
}
