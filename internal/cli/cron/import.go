package cron

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/crontab"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

type importCmd struct {
	File       string `arg:"" help:"The crontab to read; - means standard input."`
	Timezone   string `placeholder:"ZONE" help:"The time zone of lines without a CRON_TZ= above them. Give the zone of the crontab's machine (default: the zone of an existing schedule, or UTC)."`
	Prefix     string `placeholder:"PREFIX" help:"Begin the name of each schedule with this prefix."`
	System     bool   `help:"Read a system crontab such as /etc/crontab, which has a user before each command."`
	DryRun     bool   `help:"Only show the schedules; send no request to a server. With -o json, foliot import can read the output."`
	SkipErrors bool   `help:"Create schedules from the valid lines even if other lines have errors."`

	lineFlags
}

// Help shows examples below the usage line.
func (importCmd) Help() string {
	return `Creates a schedule from each line of a crontab that calls a URL. A line has five fields or a name such as @daily, and then a
command: a URL, which is called with POST, or curl or wget with options for the request. The request is the one that curl or
wget would send. Options for retries are ignored, because Foliot retries each call without a 2xx reply. So are options and
redirections of the output. Foliot also retries a call that takes too long: longer than the line's --max-time or, without that,
longer than --timeout or the limit of the queue (15s by default).

If any other line is found, for example with a pipe, a variable, or timeout before curl, the command prints it as an error with
its number, and creates no schedule.

Flags set the other properties for all lines: --timeout, --overlap, --misfire, --expire-after, --queue, --on-dead, --label. The
time limit of a line overrides --timeout. While the receiver of a frequent line is down, its calls accumulate, and are sent when
it is back. To avoid this, pass --overlap skip, which creates no call while another is unfinished, or --expire-after, which
drops late calls.

    # name: nightly
    0 21 * * MON-FRI  curl -fsS -X POST -H "X-Shop: 7" https://shop.example/report
    @hourly           https://shop.example/poll

CRON_TZ= sets the time zone of the lines below it. A comment "# name: …" before a line names its schedule. Otherwise the name
is made from the host and path of the URL.

An import can be repeated: a schedule that is the same already is not changed, and a different schedule with the same name is
updated. Fields that neither the line nor a flag sets keep their values. Schedules of removed lines stay: remove them with
foliot cron rm. After the import, remove the lines from the crontab of the machine, or both will call.

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
	Created   int                `json:"created"`
	Changed   int                `json:"changed"`
	Unchanged int                `json:"unchanged"`
	Refused   int                `json:"refused"`
	Errors    []transfer.BadLine `json:"errors,omitempty"`
	Warnings  []transfer.BadLine `json:"warnings,omitempty"`
}

// Run imports.
func (c *importCmd) Run(ctx context.Context, con *console.Console, dial connect.Dialer) error {
	if c.Timezone != "" {
		if _, err := cron.LoadZone(c.Timezone); err != nil {
			return usage.Errorf("--timezone", "%s", err)
		}
	}
	if c.Prefix != "" {
		if err := flags.CheckName("--prefix", "prefix", c.Prefix); err != nil {
			return err
		}
	}
	now := time.Now()
	flags, err := c.spec(now)
	if err != nil {
		return err
	}
	text, err := c.read(con.In)
	if err != nil {
		return err
	}
	table := crontab.Parse(text, crontab.Config{System: c.System, Prefix: c.Prefix})
	planned, errs := plan(table, c.Timezone, flags, now)
	if c.DryRun || !con.JSON {
		printNotes(con, table.Warnings, errs)
	}
	if len(planned) == 0 && len(errs) == 0 {
		con.Notef("no line calls a URL")
	}
	c.noteZone(con, planned)
	noteTimeLimit(con, planned)
	reply := importReply{Refused: len(errs), Errors: badLines(errs, "bad_line"), Warnings: badLines(table.Warnings, "ignored")}
	switch {
	case len(errs) > 0 && !c.SkipErrors:
		err = usage.Errorf(usage.FileName(c.File), "lines with errors: %d. No schedule was created. Correct the lines, or pass --skip-errors to import only the others", len(errs))
		if con.JSON && !c.DryRun {
			err = errors.Join(con.Object(reply), err)
		}
		return err
	case c.DryRun:
		err = showPlanned(con, planned, now)
	default:
		err = createAll(ctx, con, dial, planned, &reply)
	}
	if err == nil && len(errs) > 0 {
		err = exit.With(exit.Failure, fmt.Errorf("refused lines: %d", len(errs)))
	}
	return err
}

// read returns the text of the crontab.
func (c *importCmd) read(stdin io.Reader) (string, error) {
	in, _, err := transfer.OpenInput(c.File, stdin)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxCrontab+1))
	switch {
	case err != nil:
		return "", usage.AboutFile(c.File, err)
	case len(text) > maxCrontab:
		return "", usage.Errorf(usage.FileName(c.File), "the file is longer than %d bytes, so it is probably not a crontab", maxCrontab)
	}
	if text, err = usage.Text(text); err != nil {
		return "", usage.AboutFile(c.File, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return "", usage.Errorf("", "the crontab is empty: for a user without a crontab, `crontab -l` prints nothing; `crontab -u USER -l` prints the crontab of another user")
	}
	return string(text), nil
}

// noteZone notes which time zone is used if a line has none.
func (c *importCmd) noteZone(con *console.Console, planned []plannedSchedule) {
	noZone := func(p plannedSchedule) bool { return p.noZone }
	if slices.ContainsFunc(planned, noZone) {
		con.Notef("lines without CRON_TZ= keep the time zone of an existing schedule, and new schedules use UTC: pass --timezone to set the zone")
	}
}

// noteTimeLimit notes how long calls without a time limit may take. In cron
// they may take any time, and a call that is cut off and repeated can do more
// harm than a late one.
func noteTimeLimit(con *console.Console, planned []plannedSchedule) {
	n := 0
	for _, p := range planned {
		if p.spec.Task.Timeout == 0 {
			n++
		}
	}
	if n > 0 {
		con.Notef("lines without a time limit: %d. Their calls are cut off after %s, or the limit of their queue, and retried. To allow more time, pass --timeout DURATION, or add curl --max-time SECONDS to a line", n, task.DefaultTimeout)
	}
}

// printNotes prints the errors and warnings in the order of their lines.
func printNotes(con *console.Console, warnings, errs []crontab.Note) {
	all := slices.Clone(errs)
	for _, w := range warnings {
		all = append(all, crontab.Note{Line: w.Line, Text: "warning: " + w.Text})
	}
	slices.SortStableFunc(all, func(a, b crontab.Note) int { return a.Line - b.Line })
	for i, n := range all {
		if i == transfer.MaxReported {
			con.Notef("%d more errors and warnings are not shown", len(all)-i)
			return
		}
		con.Notef("line %d: %s", n.Line, wording.Printable(redact.Text(n.Text)))
	}
}

func badLines(notes []crontab.Note, code string) []transfer.BadLine {
	list := make([]transfer.BadLine, len(notes))
	for i, n := range notes {
		list[i] = transfer.BadLine{Line: n.Line, Code: code, Detail: redact.Text(n.Text)}
	}
	return list
}

// showPlanned prints the schedules that would be created.
func showPlanned(con *console.Console, planned []plannedSchedule, now time.Time) error {
	out := con.Table([]string{"LINE", "NAME", "NEXT", "FIRES", "CALLS"})
	for _, p := range planned {
		line := transfer.ScheduleLine{Name: p.name, Spec: p.spec}
		err := out.Item(line, strconv.Itoa(p.line), p.name, wording.InstantOr(p.next(now), "-"), p.words(), p.spec.Task.HTTP.Method+" "+p.spec.Task.HTTP.URL)
		if err != nil {
			return err
		}
	}
	return out.End()
}

// createAll creates the schedules in their order, and prints the totals.
func createAll(ctx context.Context, con *console.Console, dial connect.Dialer, planned []plannedSchedule, reply *importReply) error {
	api, err := dial()
	if err != nil {
		return err
	}
	for _, p := range planned {
		if err = p.put(ctx, con, api, reply); err != nil {
			err = fmt.Errorf("line %d: %w", p.line, exit.WithOp(err, "import "+p.name))
			break
		}
	}
	if con.JSON {
		return errors.Join(con.Object(reply), err)
	}
	con.Linef("created %d, changed %d, unchanged %d, refused %d", reply.Created, reply.Changed, reply.Unchanged, reply.Refused)
	if err != nil {
		return fmt.Errorf("import stopped early; repeat the command to continue: %w", err)
	}
	return nil
}

// put creates or changes one schedule, unless it already is as planned.
func (p *plannedSchedule) put(ctx context.Context, con *console.Console, api *client.Client, reply *importReply) error {
	spec := p.spec
	old, err := api.Schedules.Get(ctx, p.name)
	switch {
	case errors.Is(err, client.ErrNotFound):
	case err != nil:
		return err
	case p.matches(old):
		reply.Unchanged++
		return nil
	default:
		spec = p.mergeInto(old)
	}
	s, err := transfer.PutSchedule(ctx, api, transfer.ScheduleLine{Name: p.name, Spec: spec})
	if err != nil {
		return err
	}
	if putWord(s) == "created" {
		reply.Created++
	} else {
		reply.Changed++
	}
	if !con.JSON {
		con.Linef("%s %s: %s, next %s", putWord(s), p.name, wording.Printable(firesWords(s)), wording.InstantOr(s.NextAt, scheduleState(s)))
	}
	return nil
}
