package client

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// DueQuery selects a count of the tasks that come due: rings of 64 slots each, or
// one ring of other slots.
type DueQuery struct {
	Queue   string
	Rings   int           // 1 to 5. A slot of each ring is as long as the ring before it. Default: 5
	Until   time.Duration // without Rings: the time that one ring covers, from now on
	Step    time.Duration // with Until: length of a slot, in whole milliseconds
	ByQueue bool          // also count each of the largest queues
}

// Due has the numbers of waiting tasks by the time at which they come due. A task
// that waits for a retry counts at its next attempt.
type Due struct {
	Time       time.Time // of the sample
	ExactUntil time.Time // slots after it have no counts; zero: all counts are exact
	Scheduled  int64     // all tasks that wait
	Overdue    int64     // tasks that were due at Time; they are in no slot
	Later      int64     // tasks that are due after the last slot, or after ExactUntil
	Timers     int       // for an operator: timers on the timing wheel of the server that replied
	NearUntil  time.Time // for an operator: that server has the tasks until this time in memory
	Rings      []DueRing // the shortest slots first; each ring counts all tasks in its slots
}

// DueRing is a row of slots of equal length.
type DueRing struct {
	Slot   time.Duration // length of a slot
	From   time.Time     // beginning of the first slot, which contains Due.Time
	Counts []int64       // number of tasks in each slot
	Held   []int64       // how many of them a pause, a purge or a suspension holds now; nil: none
	Queues []DueQueue    // at most 20, the largest first
}

// DueQueue has the numbers of tasks of one queue in the slots of a ring.
type DueQueue struct {
	Namespace, Queue string
	Counts           []int64
}

// Due counts the tasks that come due, in all namespaces for an operator's
// client without a namespace. All callers share a sample for at least a second.
func (a Admin) Due(ctx context.Context, q DueQuery) (*Due, error) {
	values := params{}
	values.add("queue", q.Queue)
	values.add("rings", q.Rings)
	if q.Until != 0 || q.Step != 0 {
		values.add("until", q.Until.String())
		values.add("step", q.Step.String())
	}
	if q.ByQueue {
		values.add("by", "queue")
	}
	return get[Due](ctx, a.conn, "count the tasks that come due", "/due", values)
}

func (d Due) MarshalJSON() ([]byte, error) { return encode[wire.Due](d) }

func (d *Due) UnmarshalJSON(data []byte) error { return decode[wire.Due](data, d) }
