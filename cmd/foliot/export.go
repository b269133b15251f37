package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
)

type exportCmd struct {
	File string `arg:"" optional:"" default:"-" help:"The file to write; it appears when it is complete. - is standard output (default: -)."`

	filterFlags
}

// Help shows examples below the usage line.
func (exportCmd) Help() string {
	return `Writes tasks as lines that import reads: by default those that wait or run, with --state dead those that gave up. Each line
has the time at which the task is due now, so that an import elsewhere keeps it; what was asked for as a delay becomes
a time and cannot be touched any more. Tasks that are created while the export runs may be missing.

A task that the server named itself, as it was made by a schedule or tells of a death, goes under its id: elsewhere it is a task like any
other, which tells of no schedule and no instant, and where it came from an import makes it a second time.

Schedules come after the tasks, those of --queue and --label; with a filter that is about tasks alone, such as --state, none do. A paused one
stays paused. What a schedule has done is not moved: its runs, and which instants have fired; where it counts (--every) without a start, it counts from
the import on; one that has ended is left out. It fires in both places until it is paused or removed in one.

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
	con.notef("exported %d tasks%s", x.count, andSchedules(x.schedules))
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
		return writeJSON(w, exportLine(t), x.terminal)
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
		if err := writeJSON(w, lineOf(s), x.terminal); err != nil {
			return err
		}
	}
	return nil
}

// noSchedules reports whether a server answers that it has no such route.
func noSchedules(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// andSchedules continues a sentence that has counted tasks.
func andSchedules(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d schedules", n)
}

// exportLine returns what creates t again, due when t is. What t does without
// is said, or the queue it comes into would give it what is usual there: an
// expiry, for one. What a schedule made, or tells of a death, goes under its id.
func exportLine(t *client.Task) client.Spec {
	s := t.Spec
	s.At, s.Delay = t.DueAt, 0
	if t.NextAt.After(s.At) {
		s.At = t.NextAt
	}
	s.ExpireAfter = cmp.Or(s.ExpireAfter, client.NoLimit)
	s.OnDead = cmp.Or(s.OnDead, client.Nobody)
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
