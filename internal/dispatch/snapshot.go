package dispatch

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
	"github.com/foliot/foliot/internal/task"
)

// Destinations returns the state of every destination that has tasks in the
// window, or had some recently, by namespace and host. It costs some 200 ns per
// destination, and a little per overdue task. Deliveries go on during the walk:
// see walked.
func (d *Dispatcher) Destinations() []planner.Destination {
	list := walked(d, d.planner.Destinations)
	slices.SortFunc(list, func(a, b planner.Destination) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Host, b.Host))
	})
	return list
}

// Queues returns the state of every queue that has tasks in the window, or is
// held, by namespace and name, at the cost of Destinations.
func (d *Dispatcher) Queues() []planner.QueueState {
	list := walked(d, d.planner.Queues)
	slices.SortFunc(list, func(a, b planner.QueueState) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// WaitsFor returns why a due task of a lane does not start: see
// planner.Planner.WaitsFor.
func (d *Dispatcher) WaitsFor(l task.Lane) (planner.Limit, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.planner.WaitsFor(l, d.tickLocked())
}

// Near returns the number of timers for the lanes, queues and destinations that
// wait, and the time until which tasks are read ahead, without mu.
func (d *Dispatcher) Near() (timers int, until task.Millis) {
	return d.timers.Len(), d.now().Add(d.config.Window)
}

// walkStep is the cost of one step of a walk over the planner.
const walkStep = 1000

// walked returns the list of a walk over the planner. It holds mu for one step
// at a time, so that deliveries never wait for the whole walk.
func walked[T any](d *Dispatcher, list func(now time.Time, pause func(cost int) time.Time) []T) []T {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, spent := d.tickLocked(), 0
	return list(now, func(cost int) time.Time {
		if spent += cost; spent >= walkStep {
			spent = 0
			d.mu.Unlock()
			runtime.Gosched() // goroutines that wait for mu run now and take it
			d.mu.Lock()
			now = d.tickLocked()
		}
		return now
	})
}

// tickLocked passes the time to the planner, and returns the time of the wall
// clock.
func (d *Dispatcher) tickLocked() time.Time {
	d.planner.Tick(d.monotonic())
	return d.config.Now()
}
