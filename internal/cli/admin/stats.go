package admin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/timespan"
)

// Stats is the command foliot stats.
type Stats struct {
	From  string        `default:"-24h" placeholder:"TIME" help:"The beginning: 2030-01-02T15:04:05Z, a local time such as 03:00, or a duration from now (default: -24h)."`
	Until string        `placeholder:"TIME" help:"The end (default: now)."`
	Step  time.Duration `placeholder:"DURATION" help:"The time of a row: whole minutes in the last 24 hours, otherwise whole hours (default: 1m for at most three hours, otherwise 1h)."`
	Queue string        `placeholder:"NAME" help:"Only this queue."`
	By    string        `default:"time" enum:"time,queue" placeholder:"time|queue" help:"A row for each step, or for each queue (default: time)."`
}

func (Stats) Help() string {
	return `Shows what happened: attempts and their lateness, tasks that died, were created and cancelled. The figures are those of all servers
that share the store, which keeps minutes for 24 hours and hours for 90 days. A server that was killed has lost those of its last ten
seconds. A step in which nothing happened is missing.

>10ms, >100ms and >1s are the shares of attempts that began later after their due time, not counting waits for receivers, limits and
pauses. P50 and P99 are upper bounds of this lateness.
An operator that names no namespace sees all.

Examples:

    foliot stats
    foliot stats --from -1h
    foliot stats --from -168h --step 24h
    foliot stats --from -168h --by queue`
}

func (c *Stats) Run(ctx context.Context, con *console.Console, api *client.Client) (err error) {
	q, now := admin.HistoryQuery{Step: c.Step, Queue: c.Queue}, time.Now()
	if q.From, err = flags.ParseBound("--from", c.From, now); err != nil {
		return err
	}
	if q.Until, err = flags.ParseBound("--until", c.Until, now); err != nil {
		return err
	}
	h, err := admin.New(api).History(ctx, q)
	if err != nil {
		return err
	}
	first, rows := "FROM", h.Steps
	if c.By == "queue" {
		first, rows = "QUEUE", h.Queues
	}
	err = console.Items(con, []string{first, "ATTEMPTS", "DELIVERED", "FAILED", "DEAD", "CREATED", "CANCELLED", ">10MS", ">100MS", ">1S", "P50", "P99"}, rows, func(f admin.Figures) []string {
		name := con.Instant(f.At)
		if c.By == "queue" {
			name = f.Namespace + "/" + cmp.Or(f.Queue, "(others)")
		}
		row := []string{name}
		for _, n := range []uint64{f.Attempts, f.Delivered, f.Failed + f.Refused, f.Dead, f.Created, f.Cancelled} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		for _, n := range []uint64{f.Over10, f.Over100, f.Over1000} {
			row = append(row, share(n, f.Attempts))
		}
		return append(row, bound(f.P50, f.Attempts), bound(f.P99, f.Attempts))
	})
	if err == nil {
		con.NoteIfEmpty()
	}
	return err
}

func share(n, of uint64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}

func bound(d time.Duration, attempts uint64) string {
	switch {
	case attempts == 0:
		return "-"
	case d == 0:
		return "more"
	}
	return "≤" + timespan.Text(d)
}
