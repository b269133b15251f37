package admin

import (
	"context"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// HistoryQuery selects figures. From and Until are rounded to steps. Default: the last
// hour, by the minute; steps of an hour for more than three hours, or before the last 24.
type HistoryQuery struct {
	From, Until time.Time
	Step        time.Duration // whole minutes in the last 24 hours, otherwise whole hours
	Queue       string
}

// History is what happened on all servers that share the store, which keeps minutes for
// 24 hours, and hours for 90 days. A server that was killed has lost what it counted in
// its last ten seconds.
type History struct {
	Step         time.Duration
	From, Until  time.Time
	LateBoundsMS []int64   // of Figures.Late
	Steps        []Figures // the earliest first; a step in which nothing happened is missing
	Queues       []Figures // of the whole time, by queue; each server has those of its 64 busiest queues by themselves
}

// Figures are what happened in a step, or in a queue.
type Figures struct {
	At                            time.Time // of a step
	Namespace, Queue              string    // of a queue; an empty Queue stands for the others of the namespace
	Attempts                      uint64
	Delivered, Failed             uint64
	Snoozed, Refused, Interrupted uint64 // see AttemptTotals
	LostLeases                    uint64 // the task is sent again
	Dead, Created, Cancelled      uint64 // tasks
	Late                          []uint64
	Over10, Over100, Over1000     uint64        // attempts that were later, in milliseconds
	P50, P99                      time.Duration // a bound that this share of the attempts did not exceed; zero: there is none
}

// History returns figures of the past.
func (a *Client) History(ctx context.Context, q HistoryQuery) (*History, error) {
	values := conn.Params{}
	values.Add("from", q.From)
	values.Add("until", q.Until)
	values.Add("step", q.Step)
	values.Add("queue", q.Queue)
	return conn.Get[History](ctx, a.conn, "get the history", "/history", values)
}

func (h History) MarshalJSON() ([]byte, error) { return encode[wire.History](h) }

func (h *History) UnmarshalJSON(data []byte) error { return decode[wire.History](data, h) }

func (f Figures) MarshalJSON() ([]byte, error) { return encode[wire.Figures](f) }

func (f *Figures) UnmarshalJSON(data []byte) error { return decode[wire.Figures](data, f) }
