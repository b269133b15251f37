package store

import (
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// DueRead selects scheduled tasks, and the intervals in which their due times are
// counted. Interval 0 ends before Bounds[0], and interval i begins at Bounds[i-1]
// and ends before Bounds[i]. Tasks that are due at the last bound or later are not
// counted.
type DueRead struct {
	Namespace, Queue string        // empty means any
	Bounds           []task.Millis // ascending, at least one
	Budget           int           // about the largest number of index entries that the read examines
}

// Selects reports whether the tasks of a lane are counted, where schedules are no
// tasks.
func (r *DueRead) Selects(l task.Lane) bool {
	return l.Queue != task.ScheduleQueue && (r.Namespace == "" || r.Namespace == l.Namespace) && (r.Queue == "" || r.Queue == l.Queue)
}

// End returns the last bound.
func (r *DueRead) End() task.Millis { return r.Bounds[len(r.Bounds)-1] }

// Interval returns the interval of a due time before End.
func (r *DueRead) Interval(due task.Millis) int {
	at, found := slices.BinarySearch(r.Bounds, due)
	if found {
		at++
	}
	return at
}

// DueFound is called with the number of tasks of a lane in an interval.
type DueFound func(l task.Lane, interval, tasks int)
