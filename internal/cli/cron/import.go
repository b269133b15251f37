package cron

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/crontab"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/usage"
)

type importCmd struct {
	File       string `arg:"" help:"The crontab to read; - means standard input."`
	Timezone   string `placeholder:"ZONE" help:"The time zone of lines without a CRON_TZ= above them. Give the zone of the crontab's machine (default: UTC)."`
	Prefix     string `placeholder:"PREFIX" help:"Begin the name of each schedule with this prefix."`
	System     bool   `help:"Read a system crontab such as /etc/crontab, which has a user before each command."`
	DryRun     bool   `help:"Only show the schedules; send no request to a server. With -o json, foliot import can read the output."`
	SkipErrors bool   `help:"Create schedules from the valid lines even if other lines have errors."`
	Replace    bool   `help:"Replace schedules with the same names. Fields that neither the line nor a flag sets get their defaults."`

	Timeout     string   `placeholder:"DURATION" help:"The time limit of one attempt, for lines without curl --max-time (default: the queue's, or 15s)."`
	Overlap     string   `placeholder:"allow|skip|buffer_one" help:"If a task of the schedule is unfinished at an instant, or waits for a retry: create another, create none, or create one when it has ended (default: allow)."`
	Missed      string   `placeholder:"fire_once|skip|fire_all" help:"For instants that were missed, for example while no server was running: create a task for the latest, for none, or for each (default: fire_once)."`
	ExpireAfter string   `placeholder:"DURATION" help:"Start no attempt later than this after the due time; 0s: no limit (default: the queue's, or no limit)."`
	Queue       string   `placeholder:"NAME" help:"The queue of the tasks (default: default)."`
	OnDead      *string  `placeholder:"URL" help:"Call this URL, with a task of its own, when a task dies; an empty value: no call (default: the queue's, or no call)."`
	Label       []string `sep:"none" placeholder:"KEY=VALUE" help:"Label the tasks. Repeat it for more."`
}

func (importCmd) Help() string {
	return `Creates a schedule from each line of a crontab that calls a URL. A line has five fields or a name such as @daily, and then a
command: a URL, which is called with POST, or curl or wget with options for the request. The request is the one that curl or
wget would send. Options for retries are ignored, because Foliot retries each call without a 2xx reply. So are options and
redirections of the output. Foliot also retries a call that takes too long: longer than the line's --max-time or, without that,
longer than --timeout or the limit of the queue (15s by default).

If any other line is found, for example with a pipe, a variable, or timeout before curl, the command prints it as an error with
its number, and creates no schedule.

Flags set the other properties for all lines: --timeout, --overlap, --missed, --expire-after, --queue, --on-dead, --label. The
time limit of a line overrides --timeout. While the receiver of a frequent line is down, its calls accumulate, and are sent when
it is back. To avoid this, pass --overlap skip, which creates no call while another is unfinished, or --expire-after, which
drops late calls.

    # name: nightly
    0 21 * * MON-FRI  curl -fsS -X POST -H "X-Shop: 7" https://shop.example/report
    @hourly           https://shop.example/poll

CRON_TZ= sets the time zone of the lines below it. A comment "# name: …" before a line names its schedule. Otherwise the name
is made from the host and path of the URL.

Lines whose schedule exists are skipped, so an interrupted import can be repeated. With --replace, their schedules are replaced, as
with foliot cron add --replace. After the import, remove the lines from the crontab of the machine, or both will call.

Examples:

    crontab -l | foliot cron import - --timezone Europe/Berlin --dry-run
    crontab -l | foliot cron import - --timezone Europe/Berlin --timeout 10m --overlap skip --on-dead https://ops.example/dead
    foliot cron import /etc/crontab --system --timezone Europe/Berlin --prefix web1-`
}

// maxCrontab is the largest crontab that is read. A larger file was probably
// named by mistake.
const maxCrontab = 1 << 20

// importReply is the output of -o json, printed at the end.
type importReply struct {
	Created  int                `json:"created"`
	Replaced int                `json:"replaced"`
	Skipped  int                `json:"skipped"` // the name is taken
	Refused  int                `json:"refused"`
	Errors   []transfer.BadLine `json:"errors,omitempty"`
	Warnings []transfer.BadLine `json:"warnings,omitempty"`
}

// planned is the schedule that a line of a crontab becomes.
type planned struct {
	line int
	transfer.ScheduleLine
}

func (c *importCmd) Run(ctx context.Context, con *console.Console, dial connect.Dialer) error {
	if c.Prefix != "" {
		if err := flags.CheckName("--prefix", "prefix", c.Prefix); err != nil {
			return err
		}
	}
	now := time.Now()
	given, err := c.spec(task.CeilMillis(now))
	if err != nil {
		return err
	}
	text, err := c.read(con.In)
	if err != nil {
		return err
	}
	table := crontab.Parse(text, crontab.Config{System: c.System, Prefix: c.Prefix})
	list, errs := c.plan(table, given, now)
	reply := importReply{Refused: len(errs), Errors: badLines(errs, "bad_line"), Warnings: badLines(table.Warnings, ignored)}
	if c.DryRun || !con.JSON {
		printNotes(con, slices.Concat(reply.Errors, reply.Warnings))
	}
	c.note(con, table, list, errs)
	switch {
	case len(errs) > 0 && !c.SkipErrors:
		err = usage.Errorf(usage.FileName(c.File), "lines with errors: %d. No schedule was created. Correct the lines, or pass --skip-errors to import only the others", len(errs))
		if con.JSON && !c.DryRun {
			err = errors.Join(con.Object(reply), err)
		}
		return err
	case c.DryRun:
		err = showPlanned(con, list, now)
	default:
		err = c.createAll(ctx, con, dial, list, &reply)
	}
	if err == nil && len(errs) > 0 {
		err = exit.With(exit.Failure, fmt.Errorf("refused lines: %d", len(errs)))
	}
	return err
}

// spec returns a schedule with only the fields that the flags set.
func (c *importCmd) spec(now task.Millis) (s client.ScheduleSpec, err error) {
	if _, err := zoneNamed(c.Timezone)(); err != nil {
		return s, err
	}
	if err := flags.Merge(&s, c); err != nil {
		return s, err
	}
	if err := flags.Merge(&s.Task, c); err != nil {
		return s, err
	}
	if s.Task.Labels, err = flags.ParseLabels(c.Label); err != nil {
		return s, err
	}
	probe := s // a valid line with the flags, so that an error names the flag and not each line
	probe.Every, probe.Task.HTTP.URL = time.Hour, "http://127.0.0.1/"
	var field *task.FieldError
	if !errors.As(manifest.CheckSchedule("line", probe, now), &field) {
		return s, nil
	}
	place := wording.FlagName(wording.FieldName(field.Path))
	if key, ok := strings.CutPrefix(field.Path, "task.labels"); ok {
		place = strings.TrimSpace("--label " + strings.TrimPrefix(key, "."))
	}
	return s, usage.Errorf(place, "%s", field.Detail)
}

func (c *importCmd) read(stdin io.Reader) (string, error) {
	text, err := usage.ReadFile(c.File, stdin, maxCrontab, ", so it is probably not a crontab")
	if err != nil {
		return "", err
	}
	if text, err = usage.Text(text); err != nil {
		return "", usage.AboutFile(c.File, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return "", usage.Errorf("", "the crontab is empty: for a user without a crontab, `crontab -l` prints nothing; `crontab -u USER -l` prints the crontab of another user")
	}
	return string(text), nil
}

// plan returns the schedules that the lines of a crontab become, and the errors
// of the other lines, both in the order of the lines. It checks each schedule
// as the server would, before any schedule is created.
func (c *importCmd) plan(table crontab.Table, given client.ScheduleSpec, now time.Time) (list []planned, errs []crontab.Note) {
	errs = slices.Clone(table.Errors)
	for _, e := range table.Entries {
		p := planned{e.Line, transfer.ScheduleLine{Name: e.Name, Spec: given}}
		s, r := &p.Spec, e.Request
		s.Task.HTTP = client.HTTP{URL: r.URL, Method: cmp.Or(r.Method, task.DefaultMethod), Headers: r.Headers}
		s.Task.Timeout = cmp.Or(r.Timeout, s.Task.Timeout)
		if r.Body != "" {
			s.Task.HTTP.Body = client.Text(r.Body)
		}
		if expr, err := cron.Parse(e.When); err == nil {
			s.Every, _ = expr.Every()
		}
		if s.Every == 0 {
			s.Cron, s.TimeZone = e.When, cmp.Or(e.Zone, c.Timezone, recurrence.DefaultZone)
		}
		var field *task.FieldError
		switch err := manifest.CheckSchedule(e.Name, *s, task.CeilMillis(now)); {
		case err == nil:
			list = append(list, p)
		case errors.As(err, &field):
			errs = append(errs, crontab.Note{Line: e.Line, Text: wording.FieldName(field.Path) + ": " + field.Detail})
		default:
			errs = append(errs, crontab.Note{Line: e.Line, Text: err.Error()})
		}
	}
	slices.SortStableFunc(errs, func(a, b crontab.Note) int { return a.Line - b.Line })
	return list, errs
}

// note notes the differences to cron that can do harm: the zone, and calls that
// are cut off after a time and repeated.
func (c *importCmd) note(con *console.Console, table crontab.Table, list []planned, errs []crontab.Note) {
	if len(list) == 0 && len(errs) == 0 {
		con.Notef("no line calls a URL")
	}
	if c.Timezone == "" && slices.ContainsFunc(table.Entries, func(e crontab.Entry) bool { return e.Zone == "" && !strings.HasPrefix(e.When, "@every") }) {
		con.Notef("lines without CRON_TZ= use UTC: pass --timezone to set the zone")
	}
	n := 0
	for _, p := range list {
		if p.Spec.Task.Timeout == 0 {
			n++
		}
	}
	if n > 0 {
		con.Notef("lines without a time limit: %d. Their calls are cut off after %s, or the limit of their queue, and retried. To allow more time, pass --timeout DURATION, or add curl --max-time SECONDS to a line", n, task.DefaultTimeout)
	}
}

func printNotes(con *console.Console, all []transfer.BadLine) {
	slices.SortStableFunc(all, func(a, b transfer.BadLine) int { return a.Line - b.Line })
	for i, n := range all {
		if i == transfer.MaxReported {
			con.Notef("%d more errors and warnings are not shown", len(all)-i)
			return
		}
		warning := ""
		if n.Code == ignored {
			warning = "warning: "
		}
		con.Notef("line %d: %s%s", n.Line, warning, wording.Printable(n.Detail))
	}
}

// ignored is the code of a part that is ignored, or means something else.
const ignored = "ignored"

func badLines(notes []crontab.Note, code string) []transfer.BadLine {
	list := make([]transfer.BadLine, len(notes))
	for i, n := range notes {
		list[i] = transfer.BadLine{Line: n.Line, Code: code, Detail: redact.Text(n.Text)}
	}
	return list
}

func showPlanned(con *console.Console, list []planned, now time.Time) error {
	out := con.Table([]string{"LINE", "NAME", "NEXT", "FIRES", "CALLS"})
	for _, p := range list {
		rule, next, words := recurrence.Rule{Cron: p.Spec.Cron, Zone: p.Spec.TimeZone, Every: p.Spec.Every, Anchor: task.CeilMillis(now)}, time.Time{}, ""
		if instants, err := rule.Instants(task.CeilMillis(now)+1, task.Never, 1); err == nil && len(instants) > 0 {
			next = instants[0].Time()
		}
		if expr, err := cron.Parse(cmp.Or(p.Spec.Cron, "@every "+p.Spec.Every.String())); err == nil {
			words = firesWords(&client.Schedule{ScheduleSpec: p.Spec, Words: expr.Words()})
		}
		if err := out.Item(p.ScheduleLine, strconv.Itoa(p.line), p.Name, wording.InstantOr(next, "-"), words, p.Spec.Task.HTTP.Method+" "+p.Spec.Task.HTTP.URL); err != nil {
			return err
		}
	}
	return out.End()
}

// createAll creates the schedules in their order, and prints the totals.
func (c *importCmd) createAll(ctx context.Context, con *console.Console, dial connect.Dialer, list []planned, reply *importReply) error {
	api, err := dial()
	if err != nil {
		return err
	}
	conds := []client.CallOption{client.IfNoneMatch()}
	if c.Replace {
		conds = nil
	}
	for _, p := range list {
		s, failed := transfer.PutSchedule(ctx, api, p.ScheduleLine, conds...)
		switch {
		case errors.Is(failed, client.ErrPrecondition):
			reply.Skipped++
			con.Notef("line %d: skipped %s, which exists: to replace it, pass --replace", p.line, p.Name)
			continue
		case failed != nil:
			err = fmt.Errorf("line %d: %w", p.line, exit.WithOp(failed, "import "+p.Name))
		case putWord(s) == "created":
			reply.Created++
		default:
			reply.Replaced++
		}
		if err != nil {
			break
		}
		if !con.JSON {
			con.Linef("%s %s: %s, next %s", putWord(s), p.Name, wording.Printable(firesWords(s)), wording.InstantOr(s.NextAt, scheduleState(s)))
		}
	}
	if con.JSON {
		return errors.Join(con.Object(reply), err)
	}
	con.Linef("created %d, replaced %d, skipped %d existing, refused %d", reply.Created, reply.Replaced, reply.Skipped, reply.Refused)
	if err != nil {
		return fmt.Errorf("import stopped early; repeat the command to continue: %w", err)
	}
	return nil
}
