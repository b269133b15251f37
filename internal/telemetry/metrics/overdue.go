package metrics

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Bounds of the lanes that one scrape reads, where each costs a read of the
// index.
const (
	overdueLanes    = 512
	overduePerQueue = 16
)

// overdue reports the age of the oldest overdue task of each queue, and of the
// oldest overdue instant of a schedule. The head of a lane is only a lower
// bound of the due time, because it may be a delivered task until the next
// read. So overdue reads the lanes that seem the oldest, because an alert must
// not be caused by a task that is gone.
func (c *sourceCollector) overdue(ctx context.Context, to *collection) {
	now := task.FloorMillis(c.sources.Now())
	heads, err := store.LaneHeads(ctx, c.sources.Index, now)
	if err != nil {
		to.failed(err, "foliot_oldest_overdue_seconds", "foliot_schedule_overdue_seconds")
		return
	}
	found, err := c.sources.Index.Peek(ctx, c.suspects(heads, now))
	if err != nil {
		to.failed(err, "foliot_oldest_overdue_seconds", "foliot_schedule_overdue_seconds")
		return
	}
	ages, schedules := map[task.QueueKey]time.Duration{}, time.Duration(0)
	for _, key := range c.deliveries.labels() {
		ages[key] = 0
	}
	for _, entries := range found {
		for _, e := range entries {
			if e.Lane.Queue == task.ScheduleQueue {
				schedules = max(schedules, now.Sub(e.Due))
				continue
			}
			key, _ := c.deliveries.fold(task.QueueKey{Namespace: e.Lane.Namespace, Queue: e.Lane.Queue})
			ages[key] = max(ages[key], now.Sub(e.Due))
		}
	}
	to.gauge(scheduleOverdueDesc, schedules.Seconds())
	for key, age := range ages {
		to.gauge(overdueDesc, age.Seconds(), key.Namespace, key.Queue)
	}
}

// suspects returns reads of the lanes that seem the most overdue, which come
// first in heads.
func (c *sourceCollector) suspects(heads []task.LaneHead, now task.Millis) []store.LaneRead {
	current := c.settings()
	reads := []store.LaneRead{}
	taken := map[task.QueueKey]int{}
	for _, h := range heads {
		key := task.QueueKey{Namespace: h.Lane.Namespace, Queue: h.Lane.Queue}
		if taken[key] == overduePerQueue || current.Hold(h.Lane, now) != settings.NotHeld {
			continue
		}
		taken[key]++
		reads = append(reads, store.LaneRead{Lane: h.Lane, Until: now, Limit: 1})
		if len(reads) == overdueLanes {
			break
		}
	}
	return reads
}
