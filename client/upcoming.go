package client

import (
	"context"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// UpcomingQuery selects what is due next.
type UpcomingQuery struct {
	From   time.Time     // only what is due then or later. Default: all, overdue tasks too
	Within time.Duration // from the server's time on. Default: 1h after From, or after the server's time
	Until  time.Time     // in place of Within
	ByHour bool          // Upcoming.Hours in place of Items
	Queue  string
	Limit  int // at most 1000. Default: 100
}

// Upcoming has the next tasks and the next instants of schedules, the earliest
// due time first, so overdue tasks come first if the query includes them.
type Upcoming struct {
	Time  time.Time // the server's time
	Until time.Time // the list is complete until then; items that are due exactly then can be missing if More is set
	Items []UpcomingItem
	Hours []UpcomingCount
	More  bool // further items are due, or may be due, within the requested time
}

// UpcomingItem is a task that waits, or an instant of a schedule that will
// create one.
type UpcomingItem struct {
	Due              time.Time // start of the next attempt, or the instant; jitter can delay its task
	Namespace, Queue string
	Name             string // of the task. The task of an instant does not exist yet
	URL, Kind        string // one of them is empty: the task has a URL or a kind
	Schedule         string // the schedule that created it, or will create it; empty: none
	Instant          bool   // it is an instant, not a task
	Attempt          int    // number of the next attempt, from 2 on; zero: it is the first
	Held             string // why it will not start when it is due: as Task.WaitsFor.Reason, and "pause" for an instant of a paused schedule
}

// Upcoming returns what is due next, with at most 1000 paused schedules.
func (ts Tasks) Upcoming(ctx context.Context, q UpcomingQuery) (*Upcoming, error) {
	values := conn.Params{}
	values.Add("from", q.From)
	values.Add("until", q.Within)
	values.Add("until", q.Until)
	if q.ByHour {
		values.Add("by", "hour")
	}
	values.Add("queue", q.Queue)
	values.Add("limit", q.Limit)
	return conn.Get[Upcoming](ctx, ts.conn, "list upcoming tasks", "/upcoming", values)
}

func (u Upcoming) MarshalJSON() ([]byte, error) { return encode[wire.Upcoming](u) }

func (u *Upcoming) UnmarshalJSON(data []byte) error { return decode[wire.Upcoming](data, u) }

func (i UpcomingItem) MarshalJSON() ([]byte, error) { return encode[wire.UpcomingItem](i) }

func (i *UpcomingItem) UnmarshalJSON(data []byte) error { return decode[wire.UpcomingItem](data, i) }

// UpcomingCount is the number of tasks of a queue, or of instants of a schedule, that are
// due in an hour.
type UpcomingCount struct {
	Hour             time.Time // the beginning of the hour
	Namespace, Queue string
	Schedule         string // empty: tasks that exist
	Count            int64
	Held             string // why they will not start when they are due
}

func (c UpcomingCount) MarshalJSON() ([]byte, error) { return encode[wire.UpcomingCount](c) }

func (c *UpcomingCount) UnmarshalJSON(data []byte) error {
	return decode[wire.UpcomingCount](data, c)
}
