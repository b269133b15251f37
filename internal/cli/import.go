package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

type importCmd struct {
	File     string `arg:"" help:"The file to read; - is standard input."`
	Parallel int    `default:"4" placeholder:"N" help:"Requests under way at once (default: 4)."`
	Batch    int    `default:"1000" placeholder:"N" help:"Tasks in one request, at most 1000 (default: 1000)."`
}

// Help shows examples below the usage line.
func (importCmd) Help() string {
	return `Creates one task from each line, a JSON object as POST /v1/tasks takes it, or as export wrote it; and a schedule from one that
has a "task", as PUT /v1/schedules takes it, with its name. A line that is refused is reported with its number and does not keep the others back. Lines whose task or schedule exists already are skipped, so that an
import which was interrupted is simply started again; lines without a name would be created twice.

Examples:

    foliot import tasks.ndjson
    jq -c '{name: .id, at: .closes_at, http: {url: .callback}}' orders.json | foliot import -

A task's line, and a schedule's:

    {"name": "order-42-close", "delay": "30m", "http": {"url": "https://shop.example/close", "body": {"order": 42}}}
    {"name": "nightly", "cron": "0 21 * * *", "timezone": "Europe/Berlin", "task": {"http": {"url": "https://shop.example/report"}}}`
}

// maxReported is how many refused lines are printed and kept one by one; the
// rest is counted.
const maxReported = 100

// importReply is what -o json prints at the end.
type importReply struct {
	Created   int       `json:"created"`
	Schedules int       `json:"schedules,omitempty"` // that were created
	Skipped   int       `json:"skipped"`             // a task, or a schedule, of that name exists
	Refused   int       `json:"refused"`
	Errors    []badLine `json:"errors,omitempty"` // of the first refused lines
	Seconds   float64   `json:"seconds"`
}

type badLine struct {
	Line   int    `json:"line"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Run imports.
func (c *importCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if c.Parallel < 1 || c.Parallel > 64 {
		return usage.Errorf("--parallel", "%d does not lie between 1 and 64", c.Parallel)
	}
	if c.Batch < 1 || c.Batch > task.MaxBatch {
		return usage.Errorf("--batch", "%d does not lie between 1 and %d", c.Batch, task.MaxBatch)
	}
	in, size, err := openInput(c.File, con.in)
	if err != nil {
		return err
	}
	defer in.Close()

	im := &importer{con: con, api: api, batch: c.Batch, bar: newProgress(con, "imported", size)}
	began := time.Now()
	err = im.run(ctx, newLineReader(in), c.Parallel)
	im.bar.done()
	return im.conclude(err, time.Since(began))
}

// openInput returns a file that an argument names, and its size, -1 where that is not known.
func openInput(file string, stdin io.Reader) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(stdin), -1, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, usage.Errorf("FILE", "%v", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, 0, usage.Errorf("FILE", "%v", err)
	case info.IsDir():
		f.Close()
		return nil, 0, usage.Errorf("FILE", "%s is a directory", file)
	case !info.Mode().IsRegular():
		return f, -1, nil
	}
	return f, info.Size(), nil
}

// importer sends the lines of one file in batches. Its goroutines, a reader
// and some senders, are started by run. The senders are waited for; the reader
// is not when the import is interrupted, as nothing ends a read from a terminal.
type importer struct {
	con   *console
	api   *client.Client
	batch int
	bar   *progress

	mu    sync.Mutex // guards total
	total importReply
}

// run returns when every line was answered, or with the first error that makes
// going on pointless.
func (im *importer) run(ctx context.Context, lines *lineReader, parallel int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	batches := make(chan importBatch)
	read := make(chan error, 1)
	go func() {
		read <- im.read(ctx, lines, batches)
		close(batches)
	}()
	var senders sync.WaitGroup
	for range parallel {
		senders.Go(func() {
			if err := im.sendAll(ctx, batches); err != nil {
				stop(err)
			}
		})
	}
	senders.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return <-read
}

// sendAll sends batches until there are no more, ctx ends or one fails.
func (im *importer) sendAll(ctx context.Context, batches <-chan importBatch) error {
	for {
		select {
		case b, more := <-batches:
			if !more {
				return nil
			}
			if err := im.send(ctx, b); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// read cuts the lines into batches until they end or ctx does.
func (im *importer) read(ctx context.Context, lines *lineReader, batches chan<- importBatch) error {
	var b importBatch
	pass := func() bool {
		if len(b.numbers) == 0 {
			im.bar.add(0, b.size)
			b = importBatch{}
			return true
		}
		select {
		case batches <- b:
			b = importBatch{}
			return true
		case <-ctx.Done():
			return false
		}
	}
	for first := true; ; first = false {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			pass()
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", lines.number, err)
		}
		if problem := formProblem(l.text); first && problem != "" {
			return usage.Errorf("FILE", "%s", problem)
		}
		if l.err == nil && isSchedule(l.text) {
			if !im.passSchedule(ctx, l, batches) {
				return nil // the cause says why
			}
			continue
		}
		if b.full(l, im.batch) && !pass() {
			return nil
		}
		if reason := b.add(l); reason != "" {
			im.report(badLine{Line: l.number, Code: "bad_line", Detail: reason})
		}
	}
}

// formProblem returns why a file with that first line has another form than one
// object a line, and what makes that of it; "" if it may have.
func formProblem(first []byte) string {
	switch {
	case len(first) == 0: // it is too long, and reported as such
		return ""
	case first[0] == '[':
		return "it is a JSON array, and import reads one JSON object a line: `jq -c '.[]' FILE | foliot import -`"
	case string(first) == "{":
		return "its objects take several lines, and import reads one JSON object a line: `jq -c . FILE | foliot import -`"
	case first[0] != '{' && bytes.ContainsAny(first, ",;\t"):
		return fmt.Sprintf("its first line, %q, looks like CSV, and import reads one JSON object a line, such as %s", wording.Shorten(string(first)), exampleLine)
	case first[0] != '{':
		return fmt.Sprintf("its first line, %q, is no JSON, and import reads one JSON object a line, such as %s", wording.Shorten(string(first)), exampleLine)
	}
	return ""
}

// exampleLine is a task's line.
const exampleLine = `{"name": "order-42-close", "delay": "30m", "http": {"url": "https://shop.example/close"}}`

// passSchedule passes a line that is a schedule on, by itself.
func (im *importer) passSchedule(ctx context.Context, l line, batches chan<- importBatch) bool {
	s, err := readSchedule(l.text)
	if err != nil {
		im.report(badLine{Line: l.number, Code: "bad_line", Detail: err.Error()})
		im.bar.add(0, l.size)
		return true
	}
	select {
	case batches <- importBatch{numbers: []int{l.number}, schedule: &s, size: l.size}:
		return true
	case <-ctx.Done():
		return false
	}
}

// send creates a batch's tasks and counts what became of them.
func (im *importer) send(ctx context.Context, b importBatch) error {
	if b.schedule != nil {
		return im.putSchedule(ctx, b)
	}
	results, err := im.api.Tasks.CreateBatchJSON(ctx, b.texts)
	var refused *client.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // another sender's error, or the user's wish
	case errors.As(err, &refused) && refusalCode(refused) == exitUsage && len(b.numbers) > 1:
		return im.narrow(ctx, b)
	case err != nil:
		return renamed(err, "import of "+b.lines())
	}
	later, err := im.count(b, results)
	if err != nil || len(later.numbers) == 0 {
		return err
	}
	if !pause(ctx, tooFast) {
		return context.Cause(ctx)
	}
	return im.send(ctx, later)
}

// tooFast is the pause after a batch that the namespace's rate has cut short.
const tooFast = time.Second

// count adds up what became of a batch, and returns what came too fast. An
// error says that the server fails, or that the namespace is full: it would be
// so with the rest too.
func (im *importer) count(b importBatch, results []client.BatchResult) (later importBatch, failure error) {
	created, skipped := 0, 0
	for i, r := range results {
		var refused *client.Error
		switch {
		case r.Err == nil:
			created++
		case errors.Is(r.Err, client.ErrExists):
			skipped++
		case errors.Is(r.Err, client.ErrRateLimited):
			later.numbers, later.texts = append(later.numbers, b.numbers[i]), append(later.texts, b.texts[i])
		case errors.Is(r.Err, client.ErrQuota):
			failure = fmt.Errorf("line %d: %w", b.numbers[i], r.Err)
		case errors.As(r.Err, &refused) && refused.Status < http.StatusInternalServerError:
			im.report(badLine{Line: b.numbers[i], Code: refused.Code, Detail: wording.Shorten(refused.Message())})
		default:
			failure = fmt.Errorf("line %d: %w", b.numbers[i], r.Err)
		}
	}
	im.mu.Lock()
	im.total.Created += created
	im.total.Skipped += skipped
	im.mu.Unlock()
	im.bar.add(created+skipped, b.size)
	return later, failure
}

// narrow finds the line because of which a whole batch was refused, as JSON
// that is nested beyond reason is.
func (im *importer) narrow(ctx context.Context, b importBatch) error {
	for _, half := range b.halves() {
		if err := im.send(ctx, half); err != nil {
			return err
		}
	}
	return nil
}

// report counts and prints a line that became no task.
func (im *importer) report(bad badLine) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.total.Refused++
	if im.total.Refused > maxReported {
		return
	}
	im.total.Errors = append(im.total.Errors, bad)
	if !im.con.json {
		im.con.notef("line %d: %s", bad.Line, wording.Printable(bad.Detail))
	}
	if im.total.Refused == maxReported {
		im.con.notef("%d lines were refused; from here on they are counted only", maxReported)
	}
}

// conclude prints the sums. stopped is why the import ended before the file did.
func (im *importer) conclude(stopped error, took time.Duration) error {
	im.mu.Lock()
	t := im.total
	im.mu.Unlock()
	t.Seconds = took.Seconds()
	var form *usage.Error
	if errors.As(stopped, &form) { // nothing was sent
		return stopped
	}
	if im.con.json {
		if err := im.con.object(t); err != nil {
			return err
		}
	} else {
		im.con.sayf("created %d%s, skipped %d that exist, refused %d, in %.1f s (%s)",
			t.Created, wording.AndSchedules(t.Schedules), t.Skipped, t.Refused, took.Seconds(), rate(t.Created, took))
	}
	switch {
	case stopped != nil:
		return fmt.Errorf("import stopped early, start it again to go on: %w", stopped)
	case t.Refused > 0:
		return &fault{exitFailure, fmt.Errorf("refused lines: %d", t.Refused)}
	}
	return nil
}
