package dispatch

import (
	"context"
	"fmt"
	"testing"
	"time"

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
				b.create("t", 0)
				b.create("other", 0, func(s *task.Spec) { // its attempts keep the breaker open
					s.Queue, s.Retry = "other", task.Retry{MinBackoff: time.Minute, MaxBackoff: time.Minute}
				})
				b.pass(2 * time.Minute)
				before := b.get("t").Tries
				b.Configure(limit("default", task.QueueSettings{Paused: true}))
				b.pass(25 * time.Hour)
				if got := b.get("t"); got.Tries != before || before == 0 {
					t.Fatalf("%d attempts before the pause, %d at its end", before, got.Tries)
				}
				b.Configure(nil)
				b.pass(5 * time.Minute)
				if got := b.get("t"); got.Tries == before || got.State != task.Scheduled {
					t.Fatalf("%v (%s) after %d attempts, aged %v", got.State, got.Reason, got.Tries, got.Aged)
				}
			})
		})
	}
}

// While a breaker is open its lane's tasks are tried one at a time. They grow old all the same: otherwise
// the tasks of a receiver that is gone for good would take months to die.
func TestTheTasksOfAReceiverThatIsGoneDie(t *testing.T) {
	const tasks, maxAge = 50, time.Hour
	inBubble(t, Config{Poll: time.Minute}, nil, refuse, func(b *bed) {
		for i := range tasks {
			b.create(fmt.Sprint(i), 0, retry(task.Retry{MaxAge: maxAge, MinBackoff: time.Second, MaxBackoff: time.Hour}))
		}
		b.pass(maxAge + 4*tasks*b.config.BreakerMax)
		for i := range tasks {
			if got := b.get(fmt.Sprint(i)); got.State != task.Dead || got.Reason != task.ReasonAge {
				t.Errorf("%d is %v (%s) after %d attempts, aged %v", i, got.State, got.Reason, got.Tries, got.Aged)
			}
		}
	})
}
