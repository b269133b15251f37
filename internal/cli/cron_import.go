package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/crontab"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

type cronImportCmd struct {
	File       string `arg:"" help:"The crontab to read; - is standard input."`
	Timezone   string `placeholder:"ZONE" help:"The zone of lines above which there is no CRON_TZ=: that of the machine whose crontab it is (default: UTC)."`
	Prefix     string `placeholder:"PREFIX" help:"Begin each schedule's name with this."`
	System     bool   `help:"It is a system's crontab, as /etc/crontab: a user stands before each command."`
	DryRun     bool   `help:"Only show what would be made; no server is asked. With -o json each line is one that foliot import reads."`
	SkipErrors bool   `help:"Make schedules of the lines that can be taken, although there are others."`

	lineFlags
}

// Help shows examples below the usage line.
func (cronImportCmd) Help() string {
	return `Makes a schedule of each line of a crontab that calls a URL: five fields or @daily and the like, then a URL, which is called with POST, or a line of
curl or wget with the options that are about the request; as these send it, so it is sent. Their options of output and retries are left out: a reply
that is no 2xx is a failure, and is tried again. So is a call that takes longer than its --max-time or, where it has none, than --timeout or its queue
allow: 15s if nobody has decided. A line that is anything else is an error, told with its number, and then nothing is made at all.

In front of curl, timeout 60 is its --max-time, flock -n is --overlap skip, and nice, ionice, nohup and chronic are left out; so are || true and & at
the end of a line.

What a line cannot say is said for all of them: --timeout, --overlap, --misfire, --expire-after, --queue, --on-dead, --label. A line's own time limit is
stronger than --timeout. While the receiver of a line that runs each five minutes is down its calls pile up, and are sent when it is back, unless
--overlap skip makes none beside one that is unfinished, or --expire-after drops what comes too late.

    # name: nightly
    0 21 * * MON-FRI  curl -fsS -X POST -H "X-Shop: 7" https://shop.example/report
    @hourly           https://shop.example/poll

CRON_TZ= gives the lines below it their time zone. A schedule has the name of a comment "# name: …" before its line, or one made of the URL's host and path.
What is there already and the same is left alone, so that an import may be repeated; a schedule of the same name that is not the same is changed.
What neither the line nor a flag says of a schedule that is there stays as it is. Schedules of lines that have gone stay: foliot cron rm removes them. Take the lines out of the machine's crontab, or both will call.

Examples:

    crontab -l | foliot cron import - --timezone Europe/Berlin --dry-run
    crontab -l | foliot cron import - --timezone Europe/Berlin --timeout 10m --overlap skip --on-dead https://ops.example/dead
    foliot cron import /etc/crontab --system --timezone Europe/Berlin --prefix web1-`
}

// maxCrontab bounds a file that somebody may have named by mistake.
const maxCrontab = 1 << 20

// cronReply is what -o json prints at the end.
type cronReply struct {
	Created   int       `json:"created"`
	Changed   int       `json:"changed"`
	Unchanged int       `json:"unchanged"`
	Refused   int       `json:"refused"`
	Errors    []badLine `json:"errors,omitempty"`
	Warnings  []badLine `json:"warnings,omitempty"`
}

// Run imports.
func (c *cronImportCmd) Run(ctx context.Context, con *console, root *cli) error {
	if c.Timezone != "" {
		if _, err := cron.LoadZone(c.Timezone); err != nil {
			return usage.Errorf("--timezone", "%s", err)
		}
	}
	if c.Prefix != "" {
		if err := task.ValidateName("prefix", c.Prefix); err != nil {
			return usage.Errorf("--prefix", "%q: %s", c.Prefix, detail(err))
		}
	}
	now := time.Now()
	flags, err := c.spec(now)
	if err != nil {
		return err
	}
	text, err := c.read(con.in)
	if err != nil {
		return err
	}
	table := crontab.Parse(text, crontab.Config{System: c.System, Prefix: c.Prefix})
	planned, errs := plan(table, c.Timezone, flags, now)
	if c.DryRun || !con.json {
		sayNotes(con, table.Warnings, errs)
	}
	if len(planned) == 0 && len(errs) == 0 {
		con.notef("no line of it calls a URL")
	}
	c.sayZone(con, planned)
	sayLimit(con, planned)
	reply := cronReply{Refused: len(errs), Errors: badLines(errs, "bad_line"), Warnings: badLines(table.Warnings, "ignored")}
	switch {
	case len(errs) > 0 && !c.SkipErrors:
		err = usage.Errorf("FILE", "lines that cannot be taken: %d. Nothing was made; --skip-errors makes schedules of the others", len(errs))
		if con.json && !c.DryRun {
			err = errors.Join(con.object(reply), err)
		}
		return err
	case c.DryRun:
		err = showPlanned(con, planned, now)
	default:
		err = carryOut(ctx, con, root, planned, &reply)
	}
	if err == nil && len(errs) > 0 {
		err = &fault{exitFailure, fmt.Errorf("refused lines: %d", len(errs))}
	}
	return err
}

// read returns the crontab's text.
func (c *cronImportCmd) read(stdin io.Reader) (string, error) {
	in, _, err := openInput(c.File, stdin)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxCrontab+1))
	switch {
	case err != nil:
		return "", usage.Errorf("FILE", "%v", err)
	case len(text) > maxCrontab:
		return "", usage.Errorf("FILE", "it is longer than %d bytes, which no crontab is", maxCrontab)
	case len(bytes.TrimSpace(text)) == 0:
		return "", usage.Errorf("FILE", "it is empty: `crontab -l` prints nothing for a user who has no crontab; -u USER names another")
	}
	return string(text), nil
}

// sayZone says whose clocks count where nobody has said it.
func (c *cronImportCmd) sayZone(con *console, planned []plannedSchedule) {
	open := func(p plannedSchedule) bool { return p.open }
	if slices.ContainsFunc(planned, open) {
		con.notef("times without CRON_TZ= are taken as UTC: --timezone names another zone")
	}
}

// sayLimit says what becomes of calls that may take their time in cron: a job that is cut
// off and begun again is worse than a late one.
func sayLimit(con *console, planned []plannedSchedule) {
	n := 0
	for _, p := range planned {
		if p.spec.Task.Timeout == 0 {
			n++
		}
	}
	if n > 0 {
		con.notef("lines without a time limit: %d. Their calls are cut off after %s, or what their queue says, and made again; --timeout DURATION, or curl --max-time SECONDS in a line, gives more", n, task.DefaultTimeout)
	}
}

// sayNotes prints what there is to say of the lines, in their order.
func sayNotes(con *console, warnings, errs []crontab.Note) {
	all := slices.Clone(errs)
	for _, w := range warnings {
		all = append(all, crontab.Note{Line: w.Line, Text: "warning: " + w.Text})
	}
	slices.SortStableFunc(all, func(a, b crontab.Note) int { return a.Line - b.Line })
	for i, n := range all {
		if i == maxReported {
			con.notef("%d more lines are like these", len(all)-i)
			return
		}
		con.notef("line %d: %s", n.Line, wording.Printable(redact.Text(n.Text)))
	}
}

func badLines(notes []crontab.Note, code string) []badLine {
	list := make([]badLine, len(notes))
	for i, n := range notes {
		list[i] = badLine{Line: n.Line, Code: code, Detail: redact.Text(n.Text)}
	}
	return list
}

// showPlanned prints what would be made.
func showPlanned(con *console, planned []plannedSchedule, now time.Time) error {
	out := con.table([]string{"LINE", "NAME", "NEXT", "FIRES", "CALLS"})
	for _, p := range planned {
		var err error
		if con.json {
			err = con.object(scheduleLine{p.name, p.spec})
		} else {
			err = out.add(count(int64(p.line)), p.name, wording.InstantOr(p.next(now), "-"), p.words(), p.spec.Task.HTTP.Method+" "+p.spec.Task.HTTP.URL)
		}
		if err != nil {
			return err
		}
	}
	return endTable(con, out)
}

// carryOut makes the schedules, in their order, and prints the sums.
func carryOut(ctx context.Context, con *console, root *cli, planned []plannedSchedule, reply *cronReply) error {
	api, err := root.client()
	if err != nil {
		return err
	}
	for _, p := range planned {
		if err = p.put(ctx, con, api, reply); err != nil {
			err = fmt.Errorf("line %d: %w", p.line, renamed(err, "import "+p.name))
			break
		}
	}
	if con.json {
		return errors.Join(con.object(reply), err)
	}
	con.sayf("created %d, changed %d, unchanged %d, refused %d", reply.Created, reply.Changed, reply.Unchanged, reply.Refused)
	if err != nil {
		return fmt.Errorf("import stopped early, start it again to go on: %w", err)
	}
	return nil
}

// put makes or changes one schedule where it is not as it shall be.
func (p *plannedSchedule) put(ctx context.Context, con *console, api *client.Client, reply *cronReply) error {
	spec := p.spec
	old, err := api.Schedules.Get(ctx, p.name)
	switch {
	case errors.Is(err, client.ErrNotFound):
	case err != nil:
		return err
	case p.isAs(old):
		reply.Unchanged++
		return nil
	default:
		spec = p.over(old)
	}
	s, err := putInTurn(ctx, api, scheduleLine{p.name, spec})
	if err != nil {
		return err
	}
	if putWord(s) == "created" {
		reply.Created++
	} else {
		reply.Changed++
	}
	if !con.json {
		con.sayf("%s %s: %s, next %s", putWord(s), p.name, wording.Printable(firesWords(s)), wording.InstantOr(s.NextAt, scheduleState(s)))
	}
	return nil
}
