package metrics

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// How many lanes one scrape looks into: each costs a read of the index.
const (
	overdueLanes    = 512
	overduePerQueue = 16
)

// overdue tells how old the oldest overdue task of each queue is, and the oldest instant of
// a schedule. What the
// lanes say of their heads is only a lower bound of the due time (what was
// delivered may stand there until the next read), so it looks into those that seem the
// oldest: a metric that wakes people must not cry for a task that is gone.
func (a *asker) overdue(ctx context.Context, to *collection) {
	now := task.FloorMillis(a.sources.Now())
	heads, err := a.sources.Index.Lanes(ctx, now)
	if err != nil {
		to.failed(err, "foliot_oldest_overdue_seconds", "foliot_schedule_overdue_seconds")
		return
	}
	found, err := a.sources.Index.Peek(ctx, a.suspects(heads, now))
	if err != nil {
		to.failed(err, "foliot_oldest_overdue_seconds", "foliot_schedule_overdue_seconds")
		return
	}
	ages, schedules := map[task.QueueKey]time.Duration{}, time.Duration(0)
	for key := range a.deliveries.queues.all() {
		ages[key] = 0
	}
	for _, entries := range found {
		for _, e := range entries {
			if e.Lane.Queue == task.ScheduleQueue {
				schedules = max(schedules, now.Sub(e.Due))
				continue
			}
			key, _ := a.deliveries.fold(task.QueueKey{Namespace: e.Lane.Namespace, Queue: e.Lane.Queue})
			ages[key] = max(ages[key], now.Sub(e.Due))
		}
	}
	to.gauge(scheduleOverdueDesc, schedules.Seconds())
	for key, age := range ages {
		to.gauge(overdueDesc, age.Seconds(), key.Namespace, key.Queue)
	}
}

// suspects are the reads of the lanes that seem the most overdue, which come first in heads.
func (a *asker) suspects(heads []task.LaneHead, now task.Millis) []task.LaneRead {
	settings := a.settings()
	reads := []task.LaneRead{}
	taken := map[task.QueueKey]int{}
	for _, h := range heads {
		key := task.QueueKey{Namespace: h.Lane.Namespace, Queue: h.Lane.Queue}
		if taken[key] == overduePerQueue || settings.Hold(h.Lane, now) != task.NotHeld {
			continue
		}
		taken[key]++
		reads = append(reads, task.LaneRead{Lane: h.Lane, Until: now, Limit: 1})
		if len(reads) == overdueLanes {
			break
		}
	}
	return reads
}
