package metrics

import (
	"testing"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

func TestRemovedAndReclaimedTasksAreCounted(t *testing.T) {
	m := New(Config{})
	m.Swept(3)
	m.Reaped([]*task.Task{left(task.Scheduled, ""), left(task.Scheduled, "")})
	m.Scrubbed(store.Scrubbed{Examined: 100, Next: "more"})
	m.Scrubbed(store.Scrubbed{Examined: 20, Repairs: make([]store.Repair, 4)})
	for name, want := range map[string]float64{
		"foliot_swept_total": 3, "foliot_reclaims_total": 2,
		"foliot_scrub_repairs_total": 4, "foliot_scrubs_total": 1,
	} {
		wantValue(t, m, want, name)
	}
}
