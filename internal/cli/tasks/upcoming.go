package tasks

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Upcoming is the command foliot upcoming.
type Upcoming struct {
	From  string `placeholder:"TIME" help:"List what is due at this time or later: 2030-01-02T15:04:05Z, the next local time such as 03:00, or a duration from now. 0s leaves out overdue tasks."`
	Until string `placeholder:"TIME" help:"List what is due until this time, in the same forms (default: an hour after --from, or from now)."`
	By    string `default:"item" enum:"item,hour" placeholder:"item|hour" help:"List each task and instant, or count them by hour, queue and schedule (default: item)."`
	Queue string `placeholder:"NAME" help:"Only tasks of this queue."`
	Limit int    `short:"n" default:"100" placeholder:"N" help:"List at most this many, up to 1000 (default: 100)."`
}

func (Upcoming) Help() string {
	return `Lists the tasks that are due next, and the next instants of schedules, the earliest first. Overdue tasks come first. A
terminal shows a table. Other outputs get one line each: due time, name, queue, attempt, URL or kind, and why it is held, separated by
tabs. With -o json each is an object. The task of an instant does not exist yet: its name is the one that it will have.

An operator that names no namespace sees all.

Examples:

    foliot upcoming
    foliot upcoming --from 0s
    foliot upcoming --from 03:00
    foliot upcoming --until 24h --by hour
    foliot upcoming --until 24h --queue mail -n 1000`
}

func (c *Upcoming) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Limit < 1 || c.Limit > pageSize {
		return usage.Errorf("--limit", "%d is not between 1 and %d", c.Limit, pageSize)
	}
	q, now := client.UpcomingQuery{Queue: c.Queue, Limit: c.Limit, ByHour: c.By == "hour"}, time.Now()
	var err error
	if q.From, err = flags.ParseNext("--from", c.From, now, now); err != nil {
		return err
	}
	if q.Until, err = flags.ParseNext("--until", c.Until, now, q.From); err != nil {
		return err
	}
	list, err := api.Tasks.Upcoming(ctx, q)
	if err != nil {
		return err
	}
	if q.ByHour {
		err = console.Items(con, []string{"HOUR", "COUNT", "NAMESPACE", "QUEUE", "SCHEDULE", "HELD"}, list.Hours, func(h client.UpcomingCount) []string {
			return []string{con.Instant(h.Hour), strconv.FormatInt(h.Count, 10), cmp.Or(h.Namespace, "(others)"), cmp.Or(h.Queue, "(others)"), cmp.Or(h.Schedule, "-"), cmp.Or(h.Held, "-")}
		})
	} else {
		err = console.Items(con, []string{"DUE", "NAME", "QUEUE", "ATTEMPT", "URL", "HELD"}, list.Items, func(item client.UpcomingItem) []string {
			return []string{con.Instant(item.Due), item.Name, item.Queue, attemptOf(item), wording.URLOrKind(item.URL, item.Kind), cmp.Or(item.Held, "-")}
		})
	}
	if err != nil {
		return err
	}
	con.NoteIfEmpty()
	switch {
	case list.More && q.ByHour:
		con.Notef("the counts are complete until %s", wording.Instant(list.Until))
	case list.More:
		con.Notef("the list is complete until %s; use -n for more, or --by hour", wording.Instant(list.Until))
	}
	return nil
}

func attemptOf(item client.UpcomingItem) string {
	if item.Instant {
		return "-"
	}
	return strconv.Itoa(max(item.Attempt, 1))
}
