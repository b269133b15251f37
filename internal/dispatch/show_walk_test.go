package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// A change that waits for the lock during a walk over 20,000 lanes has it before
// the look is over: it removes lanes not yet visited, and that is not shown.
func TestALookAtManyLanesLetsDeliveriesThrough(t *testing.T) {
	const many = 20_000
	for name, test := range map[string]struct {
		lane func(i int) task.Lane
		cut  func(*Planner)
		look func(*Dispatcher) int
	}{
		"queues": {
			func(i int) task.Lane { return task.Lane{Namespace: "a", Queue: fmt.Sprint(i), Destination: "h:80"} },
			func(a *Planner) { clear(a.queues) },
			func(d *Dispatcher) int { return len(d.Queues()) },
		},
		"lanes of a queue": {
			func(i int) task.Lane { return task.Lane{Namespace: "a", Queue: "q", Destination: fmt.Sprint("h", i)} },
			func(a *Planner) { a.queues[queueKey{"a", "q"}].lanes = nil },
			func(d *Dispatcher) int { return d.Queues()[0].Waiting },
		},
		"destinations": {
			func(i int) task.Lane { return task.Lane{Namespace: "a", Queue: "q", Destination: fmt.Sprint("h", i)} },
			func(a *Planner) { clear(a.targets) },
			func(d *Dispatcher) int { return len(d.Destinations()) },
		},
		"lanes of a destination": {
			func(i int) task.Lane { return task.Lane{Namespace: "a", Queue: fmt.Sprint(i), Destination: "h:80"} },
			func(a *Planner) { a.targets[targetKey{"a", "h:80"}].lanes = nil },
			func(d *Dispatcher) int { return d.Destinations()[0].Waiting },
		},
	} {
		var asked func() // is called with the lock held when a look begins
		d := New(Config{Now: func() time.Time {
			if asked != nil {
				asked()
			}
			return time.Now()
		}}, nil, nil)
		for i := range many {
			d.agenda.Hint(1000, task.Entry{Name: fmt.Sprint(i), Lane: test.lane(i), Due: 1})
		}
		if n := test.look(d); n != many {
			t.Fatalf("%s: %d are shown, not %d", name, n, many)
		}
		cut := make(chan struct{})
		asked = func() {
			asked = nil
			waits := make(chan struct{})
			go func() {
				close(waits)
				d.mu.Lock()
				test.cut(d.agenda)
				d.mu.Unlock()
				close(cut)
			}()
			<-waits
		}
		n := test.look(d)
		<-cut
		if n == many {
			t.Errorf("%s: a change waited for the whole look", name)
		}
	}
}
