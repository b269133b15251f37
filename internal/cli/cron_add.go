package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/usage"
)

type cronAddCmd struct {
	Name string `arg:"" help:"The schedule's name, unique, of at most 200 characters."`
	Cron string `arg:"" help:"When, in quotes: minute, hour, day of month, month, day of week; six fields begin with the second; or @daily and the like. With --every it is left out."`
	URL  string `arg:"" optional:"" help:"The URL to call."`

	ruleFlags
	taskFlags

	Paused  bool `help:"Let it make no tasks until foliot cron resume lets it go on (default: as it is)."`
	Replace bool `help:"If a schedule has that name, replace all of it: absent flags have their defaults."`
	New     bool `hidden:"" help:"Refuse a name that exists. This is the default."`
}

// Help shows examples below the usage line.
func (cronAddCmd) Help() string {
	return `Makes a schedule, and prints when it fires: in words, and the next three instants, as the zone's clocks show them and in UTC. Each instant makes
a task, named after the schedule and the instant (nightly@1732309200000); the flags of a task are as in foliot add.

A name that exists is refused with exit code 4. foliot cron set changes single fields of a schedule. With --replace all of it is changed: a flag that
is not given has its default again. It keeps its runs and its pause, and what has fired does not fire again, so that a script may repeat the command.

Examples:

    foliot cron add nightly '0 21 * * MON-FRI' https://shop.example/report --timezone Europe/Berlin
    foliot cron add month-end '30 2 L * *' https://shop.example/invoices --json '{"send": true}' --misfire fire_all
    foliot cron add poll --every 5s https://shop.example/poll --overlap skip --timeout 4s --replace`
}

// Run makes the schedule.
func (c *cronAddCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	spec, err := c.input(con.in, time.Now())
	if err != nil {
		return err
	}
	conds := []client.Condition{client.IfNoneMatch()}
	if c.Replace {
		conds = nil
	}
	s, err := api.Schedules.Put(ctx, c.Name, spec, conds...)
	if errors.Is(err, client.ErrPrecondition) {
		return &fault{exitConflict, fmt.Errorf("add %s: a schedule of that name exists: `foliot cron set %[1]s` changes single fields of it, --replace changes all", c.Name)}
	}
	if err != nil {
		return renamed(err, "add "+c.Name)
	}
	return sayPut(ctx, con, api, s)
}

// sayPut prints a schedule that was made or changed, and when it fires next.
func sayPut(ctx context.Context, con *console, api *client.Client, s *client.Schedule) error {
	if con.json {
		return con.object(s)
	}
	con.sayf("%s %s: %s", putWord(s), s.Name, wording.Printable(firesWords(s)))
	if s.NextAt.IsZero() {
		con.sayf("it is %s", scheduleState(s))
		return nil
	}
	next, err := api.Schedules.Preview(ctx, s.Name, time.Time{}, shownNext)
	if err != nil {
		return err
	}
	return printInstants(con, next)
}

// shownNext is how many instants an answer shows unasked.
const shownNext = 3

// putWord says what a put did.
func putWord(s *client.Schedule) string {
	if s.Version == 1 {
		return "created"
	}
	return "changed"
}

// firesWords is when a schedule fires, as a sentence.
func firesWords(s *client.Schedule) string {
	if s.Cron == "" {
		return s.Words
	}
	return s.Words + ", " + s.TimeZone
}

// input returns the schedule to ask for.
func (c *cronAddCmd) input(stdin io.Reader, now time.Time) (s client.ScheduleSpec, err error) {
	if err := checkSchedules(c.Name); err != nil {
		return s, err
	}
	if c.New && c.Replace {
		return s, usage.Errorf("--new, --replace", "give one of them, not both")
	}
	if err := c.place(); err != nil {
		return s, err
	}
	if err := setCron(&s, "CRON", c.Cron); err != nil {
		return s, err
	}
	if err := c.fill(&s, now); err != nil {
		return s, err
	}
	if c.Paused {
		s.Paused = &c.Paused
	}
	s.Task, err = c.spec(c.URL, stdin)
	return s, err
}

// setCron sets a schedule's expression, which stands at that place of the command line.
func setCron(s *client.ScheduleSpec, place, expression string) error {
	s.Cron = expression
	if expression == "" {
		return nil
	}
	if _, err := cron.Parse(expression); err != nil {
		return usage.Errorf(place, "%s", err)
	}
	return nil
}

// place finds out which arguments were given: with --every there is no expression.
func (c *cronAddCmd) place() error {
	isURL := strings.Contains(c.Cron, "://")
	switch {
	case c.Every != "" && c.URL == "":
		c.Cron, c.URL = "", c.Cron
	case c.Every != "":
		return usage.Errorf("CRON, --every", "give one of them, not both")
	case c.URL == "" && isURL:
		return usage.Errorf("CRON", `before the URL stands when it is called: "0 21 * * *", or --every 5s`)
	case c.URL == "":
		return usage.Errorf("URL", "it is missing; an expression stands in quotes, and the URL after it")
	}
	return nil
}
