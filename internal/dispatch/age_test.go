package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// refuse answers every attempt with a 500 at once.
func refuse(context.Context, task.Delivery) task.Outcome {
	return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis(), Latency: time.Millisecond}
}

func TestNoPauseKillsATask(t *testing.T) {
	for name, failures := range map[string]int{"the breaker is closed": -1, "the breaker is open": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{BreakerFailures: failures, Poll: time.Minute}, nil, refuse, func(b *bed) {
				b.create("t", 0, func(s *task.Spec) { s.Retry.MaxAge = 2 * time.Hour })
				b.create("other", 0, func(s *task.Spec) { // its attempts keep the breaker open
					s.Queue, s.Retry = "other", task.Retry{MinBackoff: time.Minute, MaxBackoff: time.Minute}
				})
				b.pass(2 * time.Minute)
				before := b.get("t").Attempts
				b.Configure(limit("default", settings.QueueSettings{Paused: true}))
				b.pass(3 * time.Hour)
				if got := b.get("t"); got.Attempts != before || before == 0 {
					t.Fatalf("%d attempts before the pause, %d at its end", before, got.Attempts)
				}
				b.Configure(nil)
				b.pass(5 * time.Minute)
				if got := b.get("t"); got.Attempts == before || got.State != task.Scheduled {
					t.Fatalf("%v (%s) after %d attempts, aged %v", got.State, got.Reason, got.Attempts, got.Aged)
				}
			})
		})
	}
}

// closed is a queue whose store can be unavailable, like a Redis.
type closed struct {
	store.DispatchStore
	away atomic.Bool
}

func (c *closed) over(q store.DispatchStore) store.DispatchStore { c.DispatchStore = q; return c }

func (c *closed) err() error {
	if c.away.Load() {
		return task.ErrUnavailable
	}
	return nil
}

func (c *closed) LanePages(ctx context.Context, until task.Millis, reads []store.LanePageRead) ([]store.LanePage, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.DispatchStore.LanePages(ctx, until, reads)
}

func (c *closed) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if k := steps[0].Kind; k == store.Claim || k == store.Settlement {
		if err := c.err(); err != nil {
			return nil, err
		}
	}
	return c.DispatchStore.Transit(ctx, now, steps)
}

func (c *closed) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.DispatchStore.Peek(ctx, reads)
}

// The tasks wait behind an open breaker when the store becomes unavailable. At
// that time a claim is under way, a settlement, or neither. In one case only
// the shard with all these tasks becomes unavailable.
func TestNoOutageOfTheStoreKillsATask(t *testing.T) {
	age, outage := 4*time.Hour, 25*time.Hour // an outage is longer than a task may wait
	if testing.Short() {
		age, outage = 30*time.Minute, 40*time.Minute
	}
	slow := func(ctx context.Context, d task.Delivery) task.Outcome {
		time.Sleep(30 * time.Second)
		return refuse(ctx, d)
	}
	whole, part := &closed{}, &partly{}
	for name, c := range map[string]struct {
		over  func(store.DispatchStore) store.DispatchStore
		away  *atomic.Bool
		reply receiver
	}{
		"the store, before a claim":      {whole.over, &whole.away, refuse},
		"the store, before a settlement": {whole.over, &whole.away, slow},
		"a part of the store":            {part.over, &part.away, refuse},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{BreakerFailures: 1}, c.over, c.reply, func(b *bed) {
				const tasks = 5
				for i := range tasks {
					b.create(fmt.Sprint("away", i), 0, retry(task.Retry{MaxAge: age, MinBackoff: time.Second, MaxBackoff: time.Minute}))
				}
				b.pass(10 * time.Minute)
				before := b.get("away0").Attempts
				c.away.Store(true)
				b.pass(outage)
				c.away.Store(false)
				b.pass(10 * time.Minute)
				for i := range tasks {
					if got := b.get(fmt.Sprint("away", i)); got.State != task.Scheduled && got.State != task.Running || got.Attempts <= before || before == 0 {
						t.Errorf("%d is %v (%s) after %d attempts, %d before the outage, aged %v", i, got.State, got.Reason, got.Attempts, before, got.Aged)
					}
				}
			})
		})
	}
}

// While a breaker is open, its lane's tasks are tried one at a time. Their age
// must count all the same: otherwise the tasks of a receiver that is gone for
// good would take months to die.
func TestTasksOfAnUnreachableReceiverDie(t *testing.T) {
	const tasks, maxAge = 50, time.Hour
	inBubble(t, Config{Poll: time.Minute}, nil, refuse, func(b *bed) {
		for i := range tasks {
			b.create(fmt.Sprint(i), 0, retry(task.Retry{MaxAge: maxAge, MinBackoff: time.Second, MaxBackoff: time.Hour}))
		}
		b.pass(maxAge + 4*tasks*b.config.BreakerMax)
		for i := range tasks {
			if got := b.get(fmt.Sprint(i)); got.State != task.Dead || got.Reason != task.ReasonAge {
				t.Errorf("%d is %v (%s) after %d attempts, aged %v", i, got.State, got.Reason, got.Attempts, got.Aged)
			}
		}
	})
}

// Each task is attempted rarely, because the receiver asks for a delay in each
// reply. The delay applies to all tasks, so each period has one attempt.
func TestTasksOfAReceiverThatAlwaysDefersDie(t *testing.T) {
	const tasks, maxAge, delay = 50, time.Hour, time.Minute
	ask := func(context.Context, task.Delivery) task.Outcome {
		time.Sleep(2 * maxStartDelay) // the receiver takes its time
		return task.Outcome{Verdict: task.Snooze, Status: 429, RetryAfter: delay, StartedAt: millis(), Latency: 2 * maxStartDelay}
	}
	inBubble(t, Config{Poll: time.Minute}, nil, ask, func(b *bed) {
		b.Configure(limit("default", settings.QueueSettings{PerDestination: 1}))
		for i := range tasks {
			b.create(fmt.Sprint(i), 0, retry(task.Retry{MaxAge: maxAge, MinBackoff: time.Second, MaxBackoff: time.Hour}))
		}
		b.pass(maxAge + 3*tasks*delay)
		for i := range tasks {
			if got := b.get(fmt.Sprint(i)); got.State != task.Dead || got.Reason != task.ReasonAge {
				t.Errorf("%d is %v (%s) after %d attempts, aged %v", i, got.State, got.Reason, got.Attempts, got.Aged)
			}
		}
	})
}
