package planner

import "github.com/foliot/foliot/internal/task"

// none is what was decided where nothing was.
var none = task.NewSettings()

// Configure puts settings into force; nil: there are none. It costs O(queues with lanes). The change for
// the lanes of those that have changed is an update.
func (a *Planner) Configure(now task.Millis, s *task.Settings) {
	if s == nil {
		s = none
	}
	a.settings = s
	for name, t := range a.namespaces {
		t.suspended = s.Suspended(name)
	}
	for key, q := range a.queues {
		if next := s.Queue(key.namespace, key.name); next != q.settings || q.stopped != q.namespace.suspended {
			a.reconfigure(q, next, now)
		}
	}
}

func (a *Planner) reconfigure(q *queue, next *task.QueueSettings, now task.Millis) {
	old := q.settings
	q.settings = next
	if old.Rate != next.Rate || old.BurstOrDefault() != next.BurstOrDefault() {
		q.bucket.configure(next, a.monotonic)
	}
	a.leaseLimits(q)
	a.refresh(q, now)
	a.redo(&q.update, now)
}
