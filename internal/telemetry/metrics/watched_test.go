package metrics

import (
	"context"
	"errors"
	"testing"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// rounds is a queue with replies that the test sets.
type rounds struct {
	store.LeaseStore
	n   int
	err error
}

func (r rounds) Sweep(context.Context, task.Millis, int) (int, error) { return r.n, r.err }
func (r rounds) Reap(context.Context, task.Millis, int) (int, error)  { return r.n, r.err }

func TestRemovedAndReclaimedTasksAreCounted(t *testing.T) {
	m := New(Config{})
	if n, err := m.Watch(rounds{n: 3}).Sweep(t.Context(), 0, 10); n != 3 || err != nil {
		t.Errorf("Sweep: %d, %v", n, err)
	}
	if n, err := m.Watch(rounds{n: 2, err: errBroken}).Reap(t.Context(), 0, 10); n != 2 || !errors.Is(err, errBroken) {
		t.Errorf("Reap: %d, %v", n, err)
	}
	m.Scrubbed(store.Scrubbed{Examined: 100, Next: "more"})
	m.Scrubbed(store.Scrubbed{Examined: 20, Repairs: make([]store.Repair, 4)})
	for name, want := range map[string]float64{
		"foliot_swept_total": 3, "foliot_reclaims_total": 2,
		"foliot_scrub_examined_total": 120, "foliot_scrub_repairs_total": 4, "foliot_scrubs_total": 1,
	} {
		if got := value(t, m, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
