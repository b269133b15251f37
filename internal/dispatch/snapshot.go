package dispatch

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/dispatch/planner"
)

// Destinations returns what is known of every destination that has tasks in the
// window, or had some of late, by namespace and host. It costs some 200 ns for
// each, and some for each task that is overdue. Deliveries go on during the walk: see glance.
func (d *Dispatcher) Destinations() []planner.Destination {
	g := d.glance()
	list := d.planner.Destinations(g.now, g.spent)
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b planner.Destination) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Host, b.Host))
	})
	return list
}

// Queues returns what is known of every queue that has tasks in the window, or
// is held, by namespace and name. For its costs see Destinations.
func (d *Dispatcher) Queues() []planner.QueueState {
	g := d.glance()
	list := d.planner.Queues(g.now, g.spent)
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b planner.QueueState) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// glance holds mu for a walk over the planner, and only for a step at a time:
// deliveries never wait for all of it.
type glance struct {
	d    *Dispatcher
	now  time.Time
	cost int // of the present step
}

// glanceStep is the cost of one step.
const glanceStep = 1000

// glance begins a walk. It returns with mu held.
func (d *Dispatcher) glance() *glance {
	d.mu.Lock()
	return &glance{d: d, now: d.lookLocked()}
}

// spent counts the steps of the walk, and lets others have mu when a step is over.
// It returns the time of the wall clock.
func (g *glance) spent(cost int) time.Time {
	if g.cost += cost; g.cost < glanceStep {
		return g.now
	}
	g.cost = 0
	g.d.mu.Unlock()
	runtime.Gosched() // those that wait for mu run now, and have it
	g.d.mu.Lock()
	g.now = g.d.lookLocked()
	return g.now
}

// lookLocked passes the time to the planner, and returns what the wall clock shows.
func (d *Dispatcher) lookLocked() time.Time {
	d.planner.Tick(d.monotonic())
	return d.config.Now()
}
