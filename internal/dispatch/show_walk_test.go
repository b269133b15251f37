package dispatch

import (
	"fmt"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// Whoever looks at 20,000 lanes never holds the lock for more than a step of them.
func TestALookAtManyLanesLetsDeliveriesThrough(t *testing.T) {
	const lanes = 20_000
	d := New(Config{}, nil, nil)
	for i := range lanes {
		l := task.Lane{Namespace: "a", Queue: "q", Destination: fmt.Sprintf("h%d:80", i)}
		d.agenda.hint(1000, task.Entry{Name: fmt.Sprint(i), Lane: l, Due: 1})
	}
	for name, look := range map[string]func() int{
		"queues":       func() int { d.Queues(); return len(d.Queues()) },
		"destinations": func() int { return len(d.Destinations()) / 1000 },
	} {
		// A change that waits for the lock when the walk begins has it before it ends.
		began, through := make(chan struct{}), make(chan struct{})
		d.mu.Lock()
		go func() {
			close(began)
			d.mu.Lock()
			close(through)
			d.mu.Unlock()
		}()
		<-began
		g := &glance{d: d}
		steps := 0
		for range lanes {
			g.spent(2)
			select {
			case <-through:
				steps++
			default:
			}
		}
		d.mu.Unlock()
		if steps == 0 {
			t.Errorf("%s: a change waited for the whole look", name)
		}
		if look() == 0 {
			t.Errorf("%s: nothing is shown", name)
		}
	}
}
