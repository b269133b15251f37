package dispatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// A change waits for the lock during a walk over 20,000 lanes. It must get the
// lock before the walk is over: it takes the tasks of lanes not yet visited,
// and the result does not show them.
func TestASurveyOfManyLanesDoesNotDelayDeliveries(t *testing.T) {
	const many = 5 * walkStep
	queues := func(d *Dispatcher) (waiting int) {
		for _, q := range d.Queues() {
			waiting += q.Waiting
		}
		return waiting
	}
	destinations := func(d *Dispatcher) (waiting int) {
		for _, host := range d.Destinations() {
			waiting += host.Waiting
		}
		return waiting
	}
	manyQueues := func(i int) task.Lane { return task.Lane{Namespace: "a", Queue: fmt.Sprint(i), Destination: "h:80"} }
	manyHosts := func(i int) task.Lane { return task.Lane{Namespace: "a", Queue: "q", Destination: fmt.Sprint("h", i)} }
	for name, test := range map[string]struct {
		lane func(i int) task.Lane
		look func(*Dispatcher) int
	}{
		"queues":                 {manyQueues, queues},
		"lanes of a queue":       {manyHosts, queues},
		"destinations":           {manyHosts, destinations},
		"lanes of a destination": {manyQueues, destinations},
	} {
		var asked func() // called with the lock held when a walk begins
		d := New(Config{Now: func() time.Time {
			if asked != nil {
				asked()
			}
			return time.Now()
		}}, nil, nil)
		hint := func(due task.Millis) {
			for i := range many {
				d.planner.Hint(1000, task.Entry{Name: fmt.Sprint(i), Lane: test.lane(i), Due: due})
			}
		}
		hint(1)
		if n := test.look(d); n != many {
			t.Fatalf("%s: %d are shown, not %d", name, n, many)
		}
		moved := make(chan struct{})
		asked = func() {
			asked = nil
			waits := make(chan struct{})
			go func() {
				close(waits)
				d.mu.Lock()
				hint(task.Never)
				d.mu.Unlock()
				close(moved)
			}()
			<-waits
		}
		n := test.look(d)
		<-moved
		if n == many {
			t.Errorf("%s: a change waited for the whole look", name)
		}
	}
}
