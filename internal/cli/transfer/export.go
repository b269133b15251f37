package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/apply"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/tasks"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// Export is the command foliot export.
type Export struct {
	File     string `arg:"" optional:"" default:"-" help:"The file to write. It appears when the export is complete; - means standard output (default: -)."`
	Settings bool   `help:"Write namespaces, queues and schedules as YAML for foliot apply, and no tasks."`

	flags.Filter
}

func (Export) Help() string {
	return `Writes tasks as lines for foliot import: by default waiting and running tasks, with --state dead the dead ones. Each line has the
requested due time, from which expire_after counts, and the time of the next attempt if a retry is planned. A delay becomes a due
time, so the imported task cannot be touched. A dead task becomes due when it is imported. Bodies stay the same byte for byte:
JSON with line breaks is written as text with the content type of JSON. Arguments of handlers with line breaks are written without
white space. Tasks that are created during the export may be missing.

A task whose name was given by the server, because a schedule or the death of another task created it, is exported under its id.
After the import it is an ordinary task without a schedule and an instant. An import into the same server creates it twice.

The schedules follow the tasks, filtered by --queue and --label. With a filter for tasks only, such as --state, no schedules are
exported. A schedule keeps its pause, its number of runs (for --max-runs) and the start of --every. It does not keep which
instants have fired, so missed instants before the import create no tasks. Ended schedules are left out. An exported schedule
fires on both servers until it is paused or removed on one.

With --settings, the file has the settings of namespaces and queues, and the schedules, in the form of foliot apply. Fields with
their defaults are left out. An operator gets all namespaces. With --namespace or the token of a namespace, the file has the
objects of this namespace and does not name it, so that they can be applied to another one. Tokens, secrets and pauses of queues
are left out.

Examples:

    foliot export tasks.ndjson
    foliot export --queue mail | foliot --server http://other:8750 import -
    foliot export --settings settings.yaml && foliot apply -f settings.yaml --dry-run`
}

func (c *Export) Run(ctx context.Context, con *console.Console, api *client.Client, conn *connect.Flags) error {
	switch {
	case c.Settings && c.Given():
		return usage.Errorf("--settings", "cannot be combined with a filter, because the file must have all objects")
	case c.Settings:
		n, write, err := apply.Export(ctx, conn, api)
		if err == nil {
			err = writeTo(con, "export", c.File, write)
		}
		if err == nil {
			con.Notef("exported %s", wording.Count(n, "object"))
		}
		return err
	}
	schedules := len(c.State) == 0 && c.Reason == "" && c.Schedule == "" && c.Prefix == "" && c.DueBefore == "" && c.DueAfter == "" && c.EndedAfter == "" && c.EndedBefore == "" && c.Destination == "" && c.Contains == ""
	if len(c.State) == 0 {
		c.State = []string{"scheduled", "running"}
	}
	filter, err := c.Resolve(time.Now())
	if err != nil {
		return err
	}
	x := exporter{api: api, bar: console.NewProgress(con, "exported", -1), terminal: con.OutTerm && c.File == "-"}
	write := func(w io.Writer) error {
		if err := x.tasks(ctx, w, filter); err != nil || !schedules {
			return err
		}
		return x.allSchedules(ctx, w, filter)
	}
	err = writeTo(con, "export", c.File, write)
	x.bar.Done()
	if err != nil {
		return err
	}
	con.Notef("exported %s%s", wording.Count(x.count, "task"), wording.AndSchedules(x.schedules))
	if x.ended > 0 {
		con.Notef("left out %s with the state ended", wording.Count(x.ended, "schedule"))
	}
	return nil
}

// exporter writes the lines and counts them.
type exporter struct {
	api *client.Client
	bar *console.Progress

	terminal bool // the lines go to a terminal

	count, schedules, ended int
}

func (e *exporter) tasks(ctx context.Context, w io.Writer, filter client.Filter) error {
	_, _, err := tasks.Each(ctx, e.api, client.Query{Filter: filter, Bodies: true}, math.MaxInt, math.MaxInt, func(t *client.Task) error {
		e.count++
		e.bar.Add(1)
		return e.line(w, exportLine(t))
	})
	return err
}

// allSchedules writes the schedules with the queue and the labels of the
// filter.
func (e *exporter) allSchedules(ctx context.Context, w io.Writer, filter client.Filter) error {
	for s, err := range e.api.Schedules.List(ctx, client.ScheduleQuery{Labels: filter.Labels, Bodies: true}) {
		switch {
		case err != nil:
			return err
		case filter.Queue != "" && s.Task.Queue != filter.Queue:
			continue
		case s.State == client.ScheduleEnded:
			e.ended++
			continue
		}
		e.schedules++
		e.bar.Add(1)
		if err := e.line(w, scheduleToMove(s)); err != nil {
			return err
		}
	}
	return nil
}

// line writes v as a line with its body unchanged. For a terminal it escapes
// control characters.
func (e *exporter) line(w io.Writer, v json.Marshaler) error {
	if e.terminal {
		return console.WriteJSON(w, v, true)
	}
	line, err := v.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// onOneLine returns h with a body that a line of JSON can hold byte for byte. A
// JSON body with line breaks, or one that a JSON value cannot represent,
// becomes text with the content type of JSON, so that the receiver gets the
// same request.
func onOneLine(h client.HTTP) client.HTTP {
	data := h.Body.Bytes()
	if !h.Body.IsJSON() || data[0] != '"' && string(data) != "null" && !bytes.Contains(data, []byte{'\n'}) &&
		len(bytes.TrimSpace(data)) == len(data) && utf8.Valid(data) {
		return h
	}
	h.Body = client.Text(string(data))
	for name := range h.Headers {
		if strings.EqualFold(name, "Content-Type") {
			return h
		}
	}
	h.Headers = maps.Clone(h.Headers)
	if h.Headers == nil {
		h.Headers = map[string]string{}
	}
	h.Headers["content-type"] = "application/json"
	return h
}

// argsOnOneLine returns args without line breaks, so that a line can hold them.
func argsOnOneLine(args client.Body) client.Body {
	var line bytes.Buffer
	if !bytes.Contains(args.Bytes(), []byte{'\n'}) || json.Compact(&line, args.Bytes()) != nil {
		return args
	}
	return client.JSON(json.RawMessage(line.Bytes()))
}

// exportLine returns the spec that creates t again, with the requested due time
// and the time of its next attempt. A dead task is due at its import, as after
// a retry. Limits that t does not have are written explicitly, because
// otherwise the defaults of the queue would apply. A task that a schedule or
// the death of another task created is named by its id.
func exportLine(t *client.Task) client.Spec {
	s := t.Spec
	s.At, s.Delay, s.Parent = t.DueAt, 0, t.Traceparent
	switch {
	case t.State == client.StateDead:
		s.At = time.Time{} // due at the import
	case t.NextAt.After(t.DueAt):
		s.FirstAttempt = t.NextAt
	}
	s.HTTP, s.Work.Args = onOneLine(s.HTTP), argsOnOneLine(s.Work.Args)
	if strings.Contains(s.Name, "@") { // given by the server; a client may not use such a name
		s.Name = t.ID
	}
	return s
}

// writeTo calls write with standard output for "-", and otherwise with a file
// that appears when it is complete.
func writeTo(con *console.Console, doing, file string, write func(io.Writer) error) (err error) {
	if file == "-" {
		err = buffered(con.Out, write)
	} else {
		err = fileaccess.Replace(file, func(w io.Writer) error { return buffered(w, write) })
	}
	if err != nil {
		return fmt.Errorf("%s to %s: %w", doing, file, err)
	}
	return nil
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	buf := bufio.NewWriterSize(w, 256<<10)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}
