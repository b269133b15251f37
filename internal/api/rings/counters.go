package rings

import (
	"cmp"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// maxQueues is the largest number of queues with counts of their own in a ring.
const maxQueues = 20

// counters has the numbers of tasks by interval, made by NewCounters.
type counters struct {
	Bounds []task.Millis // of the intervals, as in store.DueRead

	rings     []Ring
	all, held []int64 // by interval
	queues    map[task.QueueKey][]cell
}

// cell is the number of tasks of a queue in an interval. Most queues have tasks
// in few intervals.
type cell struct{ interval, tasks int32 }

// NewCounters returns counters for the tasks in rings; with byQueue they also
// count the tasks of each queue.
func NewCounters(now task.Millis, rings []Ring, byQueue bool) *counters {
	t := &counters{Bounds: bounds(now, rings), rings: rings}
	t.all, t.held = make([]int64, len(t.Bounds)), make([]int64, len(t.Bounds))
	if byQueue {
		t.queues = map[task.QueueKey][]cell{}
	}
	return t
}

func (t *counters) Add(key task.QueueKey, held bool, interval, tasks int) {
	t.all[interval] += int64(tasks)
	if held {
		t.held[interval] += int64(tasks)
	}
	if t.queues == nil || interval == 0 {
		return
	}
	cells := t.queues[key]
	if last := len(cells) - 1; last >= 0 && cells[last].interval == int32(interval) {
		cells[last].tasks += int32(tasks)
		return
	}
	t.queues[key] = append(cells, cell{int32(interval), int32(tasks)})
}

// Counts has the numbers of tasks in the slots of all rings.
type Counts struct {
	Exact   task.Millis // all tasks due before it were counted, and no tasks of later slots
	Overdue int64
	Future  int64 // tasks in at least one slot
	Rings   []ringCounts
}

// ringCounts has the numbers of tasks in the slots of a ring.
type ringCounts struct {
	Ring
	All    []int64
	Held   []int64       // nil if no task is held
	Queues []queueCounts // the largest first
}

// queueCounts has the numbers of tasks of one queue in the slots of a ring.
type queueCounts struct {
	task.QueueKey
	Slots []int64
	total int64
}

// Counts returns the numbers of tasks, if Add was called for all tasks that are due
// before exact. It leaves out each interval that ends later.
func (t *counters) Counts(exact task.Millis) Counts {
	complete, found := slices.BinarySearch(t.Bounds, exact)
	if found {
		complete++
	}
	c := Counts{Exact: exact, Overdue: t.all[0], Rings: make([]ringCounts, len(t.rings))}
	if complete > 0 {
		c.Exact = t.Bounds[complete-1]
	}
	for i := 1; i < complete; i++ {
		c.Future += t.all[i]
	}
	for i, r := range t.rings {
		c.Rings[i] = ringCounts{Ring: r, All: t.slots(r, t.all[:complete]), Queues: t.largest(r, complete)}
		if held := t.slots(r, t.held[:complete]); slices.Max(held) > 0 {
			c.Rings[i].Held = held
		}
	}
	return c
}

func (t *counters) slots(r Ring, intervals []int64) []int64 {
	slots := make([]int64, r.Slots)
	for i := 1; i < len(intervals); i++ {
		if at, ok := t.slot(r, i); ok {
			slots[at] += intervals[i]
		}
	}
	return slots
}

func (t *counters) slot(r Ring, interval int) (int, bool) {
	at := int((t.Bounds[interval-1] - r.From) / r.Slot)
	return at, at < r.Slots
}

func (t *counters) largest(r Ring, complete int) []queueCounts {
	var all []queueCounts
	for key, cells := range t.queues {
		q := queueCounts{QueueKey: key}
		t.each(r, cells, complete, func(_ int, tasks int64) { q.total += tasks })
		if q.total > 0 {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b queueCounts) int {
		return cmp.Or(cmp.Compare(b.total, a.total), a.Compare(b.QueueKey))
	})
	all = slices.Clone(all[:min(len(all), maxQueues)])
	for i := range all {
		q := &all[i]
		q.Slots = make([]int64, r.Slots)
		t.each(r, t.queues[q.QueueKey], complete, func(slot int, tasks int64) { q.Slots[slot] += tasks })
	}
	return all
}

func (t *counters) each(r Ring, cells []cell, complete int, add func(slot int, tasks int64)) {
	for _, c := range cells {
		if int(c.interval) >= complete {
			continue
		}
		if slot, ok := t.slot(r, int(c.interval)); ok {
			add(slot, int64(c.tasks))
		}
	}
}
