package dispatch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// away is a store whose claims take long.
type away struct{ store.DispatchStore }

func (s away) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if steps[0].Kind == store.Claim {
		time.Sleep(3 * time.Second)
	}
	return s.DispatchStore.Transit(ctx, now, steps)
}

// The receiver of the tasks "slow" needs ten seconds for each, and the first eight
// attempts of the tasks "broken" fail. Obstacles delay the last of some tasks by
// more than a second, and the node itself delays no task by 20 ms.
func TestTheLatenessOfANodeIsWithoutTheTimeThatObstaclesCost(t *testing.T) {
	queue := func(edit func(*settings.QueueSettings)) *settings.Settings {
		q := &settings.QueueSettings{Namespace: "default", Name: "default", Version: 1}
		edit(q)
		return settings.NewSettings(q)
	}
	for name, c := range map[string]struct {
		config Config
		task   string
		resume bool // the settings end after ten seconds
	}{
		"breaker":     {Config{BreakerFailures: 2}, "broken", false},
		"rate":        {Config{Settings: queue(func(q *settings.QueueSettings) { q.Rate, q.Burst = 0.5, 1 })}, "quick", false},
		"concurrency": {Config{Settings: queue(func(q *settings.QueueSettings) { q.Concurrency = 1 })}, "slow", false},
		"destination": {Config{Settings: queue(func(q *settings.QueueSettings) { q.PerDestination = 1 })}, "slow", false},
		"permits":     {Config{Permits: generous{}, Settings: queue(func(q *settings.QueueSettings) { q.Concurrency = 1 })}, "slow", false},
		"slots":       {Config{Slots: 2}, "slow", false},
		"pause":       {Config{Settings: queue(func(q *settings.QueueSettings) { q.Paused = true })}, "quick", true},
		"suspension":  {Config{Settings: suspended}, "quick", true},
		"handlers":    {Config{Handlers: 1, Kinds: map[string]int{"slow": 0}}, "kind", false},
		"kind":        {Config{Handlers: 9, Kinds: map[string]int{"slow": 1}}, "kind", false},
	} {
		t.Run(name, func(t *testing.T) {
			var late, waited time.Duration
			c.config.Observe = func(e Event) {
				late, waited = max(late, e.Outcome.Late), max(waited, e.Outcome.Waited)
			}
			var refusals atomic.Int32
			receive := func(ctx context.Context, d task.Delivery) (o task.Outcome) {
				late, began := d.Late(time.Now()), millis()
				switch name := d.Task.Name; {
				case strings.HasPrefix(name, "broken") && refusals.Add(1) <= 8:
					o = *refused
				case strings.HasPrefix(name, "slow"), strings.HasPrefix(name, "kind"):
					time.Sleep(10 * time.Second)
					fallthrough
				default:
					o = accept(ctx, d)
				}
				o.StartedAt, o.Late, o.Waited = began, late, d.Waited
				return o
			}
			inBubble(t, c.config, nil, receive, func(b *bed) {
				for i := range 5 {
					of := to("receiver.test")
					if c.task == "kind" {
						of = kind("slow")
					}
					b.create(fmt.Sprint(c.task, i), time.Second, of, stubborn, patient)
				}
				if b.pass(11 * time.Second); c.resume {
					b.Configure(nil)
				}
				b.pass(10 * time.Minute)
				if late > 20*time.Millisecond || waited < time.Second || waited > 2*time.Minute {
					t.Errorf("the node was late by %v, and obstacles took %v", late, waited)
				}
				if l, w := b.Stats().Late, b.Stats().Waited; l.Max != late || w.Max != waited || l.Count != w.Count {
					t.Errorf("stats: %+v, %+v", l, w)
				}
				b.wantState(c.task+"4", task.Delivered)
			})
		})
	}
}

func TestASlowStoreIsTheLatenessOfTheNode(t *testing.T) {
	slow := func(s store.DispatchStore) store.DispatchStore { return away{s} }
	var o task.Outcome
	limits := settings.NewSettings(&settings.QueueSettings{Namespace: "default", Name: "default", Concurrency: 1, Version: 1})
	receive := func(ctx context.Context, d task.Delivery) task.Outcome {
		o.Late, o.Waited = d.Late(time.Now()), d.Waited
		return accept(ctx, d)
	}
	inBubble(t, Config{Settings: limits}, slow, receive, func(b *bed) {
		for i := range 3 {
			b.create(fmt.Sprint(i), time.Duration(i)*time.Minute)
			b.pass(time.Minute)
			if o.Late < 3*time.Second || o.Late > 3*time.Second+tick || o.Waited != 0 {
				t.Errorf("late by %v, and obstacles took %v", o.Late, o.Waited)
			}
		}
	})
}

func TestATaskWithAPastTimeWaitsAndIsLateFromItsCreateOn(t *testing.T) {
	var o task.Outcome
	receive := func(ctx context.Context, d task.Delivery) task.Outcome {
		o.Late, o.Waited = d.Late(time.Now()), d.Waited
		return accept(ctx, d)
	}
	past := func(s *task.Spec) { s.When = task.When{At: millis() - 48*60*60*1000} }
	paused := settings.NewSettings(&settings.QueueSettings{Namespace: "default", Name: "default", Version: 1, Paused: true})
	inBubble(t, Config{}, nil, receive, func(b *bed) {
		b.create("past", 0, past)
		b.pass(time.Second)
		if b.wantState("past", task.Delivered); o.Late > 20*time.Millisecond || o.Waited != 0 {
			t.Errorf("late by %v, and obstacles took %v", o.Late, o.Waited)
		}
		b.Configure(paused)
		b.create("held", 0, past)
		b.pass(10 * time.Second)
		b.Configure(nil)
		b.pass(time.Second)
		if b.wantState("held", task.Delivered); o.Late > 20*time.Millisecond || o.Waited < 9*time.Second || o.Waited > 11*time.Second {
			t.Errorf("after a pause: late by %v, and obstacles took %v", o.Late, o.Waited)
		}
	})
}
