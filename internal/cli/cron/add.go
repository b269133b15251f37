package cron

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type addCmd struct {
	Name string `arg:"" help:"The unique name of the schedule, at most 200 characters."`
	Cron string `arg:"" optional:"" help:"The expression, in quotes: minute, hour, day of month, month, day of week. Six fields begin with the second. @daily and similar names are possible. Omit it with --every."`
	URL  string `arg:"" optional:"" help:"The URL to call. Omit it with --kind."`

	ruleFlags
	flags.Task

	Paused  bool `help:"Create the schedule paused: it creates no tasks until foliot cron set --no-paused (default: keep its state)."`
	Replace bool `help:"Replace a schedule with the same name. Fields without a flag get their defaults."`
}

func (addCmd) Help() string {
	return `Creates a schedule, and prints in words when it fires, and its next three instants in local time and in UTC. Each instant creates
a task, named after the schedule and the instant (nightly@1732309200000). The flags for tasks are the same as in foliot add.

A name that is taken is refused with exit code 4. To change single fields of a schedule, use foliot cron set. With --replace,
the whole schedule is replaced: a field without a flag gets its default. The schedule keeps its number of runs and its pause,
and instants that have fired do not fire again, so that a script may repeat the command.

Examples:

    foliot cron add nightly '0 21 * * MON-FRI' https://shop.example/report --timezone Europe/Berlin
    foliot cron add month-end '30 2 L * *' https://shop.example/invoices --json '{"send": true}' --missed fire_all
    foliot cron add cleanup @hourly --kind cleanup --args '{"days": 30}'
    foliot cron add poll --every 5s https://shop.example/poll --overlap skip --timeout 4s --replace`
}

func (c *addCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	spec, err := c.input(con.In, time.Now())
	if err != nil {
		return err
	}
	conds := []client.CallOption{client.IfNoneMatch()}
	if c.Replace {
		conds = nil
	}
	s, err := api.Schedules.Put(ctx, c.Name, spec, conds...)
	if errors.Is(err, client.ErrPrecondition) {
		return exit.Reword(err, "add %s: a schedule with that name exists: change single fields with `foliot cron set %[1]s`, or pass --replace to replace it", c.Name)
	}
	if err != nil {
		return exit.WithOp(err, "add "+c.Name)
	}
	return printPut(ctx, con, api, s)
}

// printPut prints a schedule that was created or changed, and its next
// instants.
func printPut(ctx context.Context, con *console.Console, api *client.Client, s *client.Schedule) error {
	if con.JSON {
		return con.Object(s)
	}
	con.Linef("%s %s: %s", putWord(s), s.Name, wording.Printable(firesWords(s)))
	if s.NextAt.IsZero() {
		con.Linef("it is %s", scheduleState(s))
		return nil
	}
	next, err := api.Schedules.Preview(ctx, s.Name, time.Time{}, shownNext)
	if err != nil {
		return err
	}
	return printInstants(con, next)
}

// shownNext is the number of instants that are printed after a change.
const shownNext = 3

func putWord(s *client.Schedule) string {
	if s.Version == 1 {
		return "created"
	}
	return "changed"
}

func firesWords(s *client.Schedule) string {
	if s.Cron == "" {
		return s.Words
	}
	return s.Words + ", " + s.TimeZone
}

func (c *addCmd) input(stdin io.Reader, now time.Time) (s client.ScheduleSpec, err error) {
	if err := c.assignArguments(); err != nil {
		return s, err
	}
	s.Cron = c.Cron
	if err := c.fill(&s, now); err != nil {
		return s, err
	}
	if c.Paused {
		s.Paused = &c.Paused
	}
	s.Task, err = c.Spec(c.URL, stdin)
	return s, err
}

// assignArguments finds out which arguments were given. With --every, the first
// argument after the name is the URL.
func (c *addCmd) assignArguments() error {
	isURL := strings.Contains(c.Cron, "://")
	switch {
	case c.Kind != "" && (c.URL != "" || isURL):
		return usage.Errorf("URL, --kind", "pass only one of them")
	case c.Kind != "" && c.Every != "" && c.Cron != "":
		return usage.Errorf("CRON, --every", "pass only one of them")
	case c.Kind != "" && c.Every == "" && c.Cron == "":
		return usage.Errorf("CRON", `it is missing: write an expression, such as "0 21 * * *", or pass --every 5s`)
	case c.Kind != "":
	case c.Every != "" && c.URL == "":
		c.Cron, c.URL = "", c.Cron
	case c.Every != "":
		return usage.Errorf("CRON, --every", "pass only one of them")
	case c.URL != "" && isURL:
		return usage.Errorf("CRON", `this is a URL: write the expression, such as "0 21 * * *", before the URL`)
	case c.URL == "" && isURL:
		return usage.Errorf("CRON", `it is missing: write an expression before the URL, such as "0 21 * * *", or pass --every 5s`)
	case c.URL == "":
		return usage.Errorf("URL", "it is missing: write the expression in quotes, and the URL after it, or pass --kind")
	}
	return nil
}
