package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

type exportCmd struct {
	File string `arg:"" optional:"" default:"-" help:"The file to write; it appears when it is complete. - is standard output (default: -)."`

	filterFlags
}

// Help shows examples below the usage line.
func (exportCmd) Help() string {
	return `Writes tasks as lines that import reads: by default those that wait or run, with --state dead those that gave up. Each line
has the time that was asked for, from which expire_after counts, and, if the task is tried again, the time of its next attempt; what was asked
for as a delay becomes a time and cannot be touched any more. A dead task is due when it is imported. Bodies stay byte for byte as they are: JSON with line
breaks is written as a text whose content type is JSON. Tasks that are created while the export runs may be missing.

A task that the server named itself, as it was made by a schedule or tells of a death, goes under its id: elsewhere it is a task like any
other, which tells of no schedule and no instant, and where it came from an import makes it a second time.

Schedules come after the tasks, those of --queue and --label; with a filter that is about tasks alone, such as --state, none do. A paused one
stays paused; the number of its runs stays, for --max-runs, and so does the time from which --every counts. Which instants have fired is not moved: those before the import
are not made up for. A schedule that has ended is left out. It fires in both places until it is paused or removed in one.

Examples:

    foliot export tasks.ndjson
    foliot export --queue mail | foliot --server http://other:8750 import -`
}

// Run exports.
func (c *exportCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	schedules := len(c.State) == 0 && c.Reason == "" && c.Schedule == "" && c.DueBefore == "" && c.DueAfter == ""
	if len(c.State) == 0 {
		c.State = []string{"scheduled", "running"}
	}
	filter, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	x := exporter{con: con, api: api, bar: newProgress(con, "exported", -1), terminal: con.outTerm && c.File == "-"}
	write := func(w io.Writer) error {
		if err := x.tasks(ctx, w, filter); err != nil || !schedules {
			return err
		}
		return x.allSchedules(ctx, w, filter)
	}
	if c.File == "-" {
		err = buffered(con.out, write)
	} else {
		err = replaceFile(c.File, write)
	}
	x.bar.done()
	if err != nil {
		return fmt.Errorf("export to %s: %w", c.File, err)
	}
	con.notef("exported %d tasks%s", x.count, wording.AndSchedules(x.schedules))
	if x.ended > 0 {
		con.notef("left out %d schedules that have ended", x.ended)
	}
	return nil
}

// exporter writes lines, and counts them.
type exporter struct {
	con *console
	api *client.Client
	bar *progress

	terminal bool // the lines go to one

	count, schedules, ended int
}

func (x *exporter) tasks(ctx context.Context, w io.Writer, filter client.Filter) error {
	_, _, err := eachTask(ctx, x.api, client.Query{Filter: filter, Bodies: true}, 0, func(t *client.Task) error {
		x.count++
		x.bar.add(1, 0)
		return x.line(w, exportLine(t))
	})
	return err
}

// allSchedules writes the schedules of the filter's queue and labels.
func (x *exporter) allSchedules(ctx context.Context, w io.Writer, filter client.Filter) error {
	for s, err := range x.api.Schedules.List(ctx, client.ScheduleQuery{Labels: filter.Labels, Bodies: true}) {
		switch {
		case noSchedules(err):
			x.con.notef("the server is older than schedules: it has none to export")
			return nil
		case err != nil:
			return err
		case filter.Queue != "" && s.Task.Queue != filter.Queue:
			continue
		case s.State == client.ScheduleEnded:
			x.ended++
			continue
		}
		x.schedules++
		x.bar.add(1, 0)
		if err := x.line(w, scheduleToMove(s)); err != nil {
			return err
		}
	}
	return nil
}

// line writes a line whose body keeps its bytes. A terminal shows it, and gets no
// character that would act on it.
func (x *exporter) line(w io.Writer, v json.Marshaler) error {
	if x.terminal {
		return writeJSON(w, v, true)
	}
	line, err := v.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// onOneLine returns h with a body that a line of JSON holds byte for byte. JSON
// that has line breaks, or whose bytes no JSON value shows, is written as a text
// with the content type of JSON: the receiver gets the same request.
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

// noSchedules reports whether a server answers that it has no such route.
func noSchedules(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// exportLine returns the spec that creates t again, with the due time that was
// asked for and the time of its next attempt. A dead task starts again when it is
// imported, as it does when it is retried. Limits that t does not have are
// written too: otherwise the queue's defaults would fill them in. A task that a
// schedule made, or that tells of a death, goes under its id.
func exportLine(t *client.Task) client.Spec {
	s := t.Spec
	s.At, s.Delay, s.Parent = t.DueAt, 0, t.Traceparent
	switch {
	case t.State == client.Dead:
		s.At = time.Time{} // due at the import
	case t.NextAt.After(t.DueAt):
		s.FirstAttempt = t.NextAt
	}
	s.HTTP = onOneLine(s.HTTP)
	s.ExpireAfter = cmp.Or(s.ExpireAfter, client.Forever)
	s.OnDead = cmp.Or(s.OnDead, client.NoDeadNotice)
	if strings.Contains(s.Name, "@") { // made by the server, and no name for a client to give
		s.Name = t.ID
	}
	return s
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	buf := bufio.NewWriterSize(w, 256<<10)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// replaceFile writes a file under another name beside it and renames it when
// it is complete and on the disk: half an export is never taken for a whole one.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return err
	}
	err = buffered(f, write)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
	}
	return err
}
