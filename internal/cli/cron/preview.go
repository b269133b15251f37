package cron

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/usage"
)

type previewCmd struct {
	Name string `arg:"" name:"name-or-cron" help:"The name of a schedule; or an expression, in quotes, which needs no server."`

	clockFlags

	Limit int    `short:"n" default:"10" placeholder:"N" help:"Number of instants, at most 1000 (default: 10)."`
	From  string `placeholder:"TIME" help:"Show instants from this time on: 2030-01-02T15:04:05Z, a date (midnight in the zone), or a duration from now (-24h) (default: now)."`
}

func (previewCmd) Help() string {
	return `Shows the instants of a schedule's rule, or of an expression: local time, UTC and day of the week. The instants are those of the
rule between its start and end, even if they have fired, are skipped or the schedule is paused. An argument with spaces, or one
that begins with @, is an expression. For an expression, the command also names the days on which clocks skip or repeat its time.

Examples:

    foliot cron preview nightly
    foliot cron preview '30 2 * * *' --timezone Europe/Berlin --from 2027-03-27 -n 3
    foliot cron preview '0 9 * * MON#1'`
}

func (c *previewCmd) Run(ctx context.Context, con *console.Console, dial connect.Dialer) error {
	if c.Limit < 1 || c.Limit > maxPreview {
		return usage.Errorf("--limit", "%d is not between 1 and %d", c.Limit, maxPreview)
	}
	if strings.ContainsAny(c.Name, " \t*") || strings.HasPrefix(c.Name, "@") {
		now := time.Now()
		from, err := parseDay("--from", c.From, now, zoneNamed(c.TimeZone))
		if err != nil {
			return err
		}
		if from.IsZero() {
			from = now
		}
		return c.printOfExpression(con, from)
	}
	return c.printOfSchedule(ctx, con, dial)
}

// maxPreview is the largest number of instants that a server returns at once.
const maxPreview = 1000

func (c *previewCmd) printOfSchedule(ctx context.Context, con *console.Console, dial connect.Dialer) error {
	if c.given() {
		return usage.Errorf("--timezone, --dst-gap, --dst-overlap", "they need an expression; a schedule has its own time zone")
	}
	api, err := dial()
	if err != nil {
		return err
	}
	from, err := parseDay("--from", c.From, time.Now(), zoneOf(ctx, api, c.Name))
	if err != nil {
		return err
	}
	list, err := api.Schedules.Preview(ctx, c.Name, from, c.Limit)
	if err != nil {
		return err
	}
	return printInstants(con, list)
}

func (c *previewCmd) printOfExpression(con *console.Console, from time.Time) error {
	rule, words, err := c.rule(task.CeilMillis(from))
	if err != nil {
		return err
	}
	clocks, err := rule.Clocks()
	if invalid := new(recurrence.RuleError); errors.As(err, &invalid) { // c.rule has parsed the expression
		return usage.Errorf("--timezone", "%s", invalid.Detail)
	}
	instants, err := rule.Instants(task.CeilMillis(from), task.Never, c.Limit)
	if err != nil {
		return err
	}
	con.Notef("%s", words)
	if n := len(instants); n > 0 && clocks.Expr != nil {
		for _, change := range clocks.ClockChanges(from, instants[n-1].Time()) {
			con.Notef("%s", change.Words(clocks))
		}
	}
	list := make([]client.Instant, len(instants))
	for i, m := range instants {
		list[i] = client.Instant{At: m.Time(), Local: m.Time().In(clocks.Zone)}
	}
	return printInstants(con, list)
}

// rule returns the rule of an expression, and a sentence about it. An @every
// expression begins at from.
func (c *previewCmd) rule(from task.Millis) (r recurrence.Rule, words string, err error) {
	expr, err := cron.Parse(c.Name)
	if err != nil {
		return r, "", usage.Errorf("NAME-OR-CRON", "%s", err)
	}
	r.Zone = cmp.Or(c.TimeZone, recurrence.DefaultZone)
	if every, ok := expr.Every(); ok {
		if c.given() {
			return r, "", usage.Errorf("--timezone, --dst-gap, --dst-overlap", "they cannot be combined with @every, which does not depend on a time zone")
		}
		r.Every, r.Anchor = every, from
		return r, expr.Words(), nil
	}
	r.Cron = expr.String()
	var ok bool
	if r.Gap, ok = cron.ParseGap(cmp.Or(c.DSTGap, cron.GapNext.String())); !ok {
		return r, "", usage.Errorf("--dst-gap", "%q is not one of next, skip", c.DSTGap)
	}
	if r.Fold, ok = cron.ParseOverlap(cmp.Or(c.DSTOverlap, cron.OverlapFirst.String())); !ok {
		return r, "", usage.Errorf("--dst-overlap", "%q is not one of first, both", c.DSTOverlap)
	}
	return r, cron.Rule{Expr: expr, Gap: r.Gap, Overlap: r.Fold}.Words() + ", " + r.Zone, nil
}

func printInstants(con *console.Console, list []client.Instant) error {
	return console.Items(con, []string{"LOCAL", "UTC", "DAY"}, list, func(i client.Instant) []string {
		return []string{localTime(i.Local), wording.Instant(i.At), i.Local.Weekday().String()}
	})
}

// localTime formats a time with its offset. It adds milliseconds unless the
// time is a whole second.
func localTime(t time.Time) string {
	if t.Nanosecond() == 0 {
		return t.Format(time.RFC3339)
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}
