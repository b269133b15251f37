package planner

import (
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// none are the settings in force if there are none.
var none = settings.NewSettings()

// Configure applies settings. s can be nil. The cost is O(queues with lanes).
// The lanes of a changed queue are updated in pieces.
func (pl *Planner) Configure(now task.Millis, s *settings.Settings) {
	if s == nil {
		s = none
	}
	pl.settings = s
	for name, t := range pl.namespaces {
		t.suspended = s.Suspended(name)
	}
	for key, q := range pl.queues {
		if next := s.Queue(key.namespace, key.name); next != q.settings || q.stopped != q.namespace.suspended {
			pl.reconfigure(q, next, now)
		}
	}
}

func (pl *Planner) reconfigure(q *queue, next *settings.QueueSettings, now task.Millis) {
	old := q.settings
	q.settings = next
	if old.Rate != next.Rate || old.BurstOrDefault() != next.BurstOrDefault() {
		q.bucket.configure(next, pl.monotonic)
	}
	pl.leaseLimits(q)
	pl.refresh(q, now)
	pl.redo(&q.update, now)
}
