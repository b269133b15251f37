package dispatch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// generous grants every request.
type generous struct{}

func (generous) Permit(_ context.Context, asks []store.PermitAsk) []store.PermitReply {
	replies := make([]store.PermitReply, len(asks))
	for i, a := range asks {
		replies[i] = store.PermitReply{Lease: 6 * time.Second, Held: max(a.Keep, a.Want), Share: -1, Tokens: a.Tokens}
	}
	return replies
}

func TestAQueueWithLimitsContinuesWhenASlotIsFree(t *testing.T) {
	const last = 20 * time.Second // after that no other event comes
	limits := settings.NewSettings(&settings.QueueSettings{Namespace: "default", Name: "limited", Concurrency: 2, Version: 1})
	takes := func(ctx context.Context, d task.Delivery) task.Outcome {
		if strings.HasPrefix(d.Task.Name, "hog") {
			time.Sleep(10 * time.Second)
		}
		return accept(ctx, d)
	}
	// The window is smaller than the backlog: no read of it ends the wait by
	// chance.
	inBubble(t, Config{Slots: 8, WindowTasks: 100, Settings: limits, Permits: generous{}}, nil, takes, func(b *bed) {
		for round := range 40 { // a proven receiver may have the last slot
			for i := range 8 {
				b.create(fmt.Sprint("warm", round, "-", i), 0, in(fmt.Sprint("q", i)), to(fmt.Sprint("host", i)))
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		for i := range 8 {
			b.create(fmt.Sprint("hog", i), 0, in(fmt.Sprint("q", i)), to(fmt.Sprint("host", i)))
		}
		time.Sleep(time.Second)
		for i := range 500 {
			b.create(fmt.Sprint("limited", i), 0, in("limited"), to(fmt.Sprint("host", i%3)))
		}
		time.Sleep(9 * time.Second)
		freed, n, first := time.Now(), 0, time.Duration(0)
		time.Sleep(last)
		for _, c := range b.seen() {
			if strings.HasPrefix(c.name, "limited") {
				if n++; n == 1 {
					first = c.at.Sub(freed)
				}
			}
		}
		if n != 500 || first > 300*time.Millisecond {
			t.Errorf("%d of 500 begun, the first %v after there were slots", n, first)
		}
	})
}

// A node without permits requests none while an open breaker stops all lanes of
// the queue. Its breaker is the reason why the tasks wait.
func TestAQueueBehindAnOpenBreakerIsNotLimitedByItsConcurrency(t *testing.T) {
	limits := settings.NewSettings(&settings.QueueSettings{Namespace: "default", Name: "default", Concurrency: 10, Version: 1})
	failing := func(context.Context, task.Delivery) task.Outcome {
		return task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: millis()}
	}
	inBubble(t, Config{Settings: limits, Permits: generous{}, BreakerMax: time.Hour}, nil, failing, func(b *bed) {
		for i := range 50 {
			b.create(fmt.Sprint("t", i), 0, patient)
		}
		b.pass(time.Minute)
		q, d := b.Queues(), b.Destinations()
		if len(q) != 1 || len(d) != 1 || q[0].Running != 0 || d[0].Breaker != planner.Open {
			t.Fatalf("the breaker is not open: %+v, %+v", q, d)
		}
		if q[0].Limit != planner.LimitBreaker {
			t.Errorf("the limit is %q, want %q", q[0].Limit, planner.LimitBreaker)
		}
	})
}
