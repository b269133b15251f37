package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// Import is the command foliot import.
type Import struct {
	File     string `arg:"" help:"The file to read; - means standard input."`
	Parallel int    `default:"4" placeholder:"N" help:"Requests at the same time (default: 4)."`
	Batch    int    `default:"1000" placeholder:"N" help:"Tasks in one request, at most 1000 (default: 1000)."`
}

// Help shows examples below the usage line.
func (Import) Help() string {
	return `Creates one task from each line. A line is a JSON object as for POST /v1/tasks, or as foliot export writes it. A line with a field
"task" creates a schedule: it has the fields of PUT /v1/schedules, and a name.

A refused line is reported with its number, and the import goes on. Lines whose task or schedule exists are skipped, so an
interrupted import can simply be repeated. Give each line a name: a line without one would create a second task.

Examples:

    foliot import tasks.ndjson
    jq -c '{name: .id, at: .closes_at, http: {url: .callback}}' orders.json | foliot import -

A line of a task, and a line of a schedule:

    {"name": "order-42-close", "delay": "30m", "http": {"url": "https://shop.example/close", "body": {"order": 42}}}
    {"name": "nightly", "cron": "0 21 * * *", "timezone": "Europe/Berlin", "task": {"http": {"url": "https://shop.example/report"}}}`
}

// MaxReported is how many refused lines are printed and kept. Others are only
// counted.
const MaxReported = 100

// importReply is the output of -o json, printed at the end.
type importReply struct {
	Created   int       `json:"created"`
	Schedules int       `json:"schedules,omitempty"` // created
	Skipped   int       `json:"skipped"`             // the name is taken
	Refused   int       `json:"refused"`
	Errors    []BadLine `json:"errors,omitempty"` // of the first refused lines
	Seconds   float64   `json:"seconds"`
}

// BadLine is a line that was refused or changed, and the reason.
type BadLine struct {
	Line   int    `json:"line"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Run imports the file.
func (c *Import) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Parallel < 1 || c.Parallel > 64 {
		return usage.Errorf("--parallel", "%d is not between 1 and 64", c.Parallel)
	}
	if c.Batch < 1 || c.Batch > task.MaxBatch {
		return usage.Errorf("--batch", "%d is not between 1 and %d", c.Batch, task.MaxBatch)
	}
	in, size, err := OpenInput(c.File, con.In)
	if err != nil {
		return err
	}
	defer in.Close()

	im := &importer{con: con, api: api, batch: c.Batch, bar: console.NewProgress(con, "imported", size)}
	began := time.Now()
	err = im.run(ctx, newLineReader(in), c.Parallel)
	im.bar.Done()
	return im.conclude(err, time.Since(began))
}

// OpenInput opens the file that an argument names. It returns a size of -1 if
// the size is unknown.
func OpenInput(file string, stdin io.Reader) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(stdin), -1, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, usage.AboutFile(file, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		f.Close()
		return nil, 0, usage.AboutFile(file, err)
	case info.IsDir():
		f.Close()
		return nil, 0, usage.Errorf("", "%s is a directory", file)
	case !info.Mode().IsRegular():
		return f, -1, nil
	}
	return f, info.Size(), nil
}

// importer sends the lines of one file in batches. Its method run starts a
// reader and several senders. It waits for the senders. After an interrupt it
// does not wait for the reader, because a read from a terminal cannot be
// cancelled.
type importer struct {
	con   *console.Console
	api   *client.Client
	batch int
	bar   *console.Progress

	mu    sync.Mutex // guards total
	total importReply
}

// run returns when all lines are done, or at the first error that would affect
// the other lines too.
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

// sendAll sends batches until there are no more, ctx ends or a batch fails.
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

// read collects the lines into batches until the file or ctx ends.
func (im *importer) read(ctx context.Context, lines *lineReader, batches chan<- importBatch) error {
	var b importBatch
	pass := func() bool {
		if len(b.numbers) == 0 {
			im.bar.Add(0, b.size)
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
			return usage.Errorf("", "the file cannot be imported: %s", problem)
		}
		if l.err == nil && isSchedule(l.text) {
			if !im.passSchedule(ctx, l, batches) {
				return nil // run returns the cause of ctx
			}
			continue
		}
		if b.full(l, im.batch) && !pass() {
			return nil
		}
		if reason := b.add(l); reason != "" {
			im.report(BadLine{Line: l.number, Code: "bad_line", Detail: reason})
		}
	}
}

// formProblem returns an error text with a remedy if the first line shows that
// the file does not have one JSON object per line, and "" otherwise.
func formProblem(first []byte) string {
	_, encoding := usage.Text(first)
	switch {
	case encoding != nil:
		return encoding.Error()
	case len(first) == 0: // too long; reported elsewhere
		return ""
	case first[0] == '[':
		return "it is a JSON array, and import needs one JSON object per line: `jq -c '.[]' FILE | foliot import -`"
	case string(first) == "{":
		return "its objects take several lines, and import needs one JSON object per line: `jq -c . FILE | foliot import -`"
	case first[0] != '{' && bytes.ContainsAny(first, ",;\t"):
		return fmt.Sprintf("its first line, %q, looks like CSV, and import needs one JSON object per line, such as %s", start(first), exampleLine)
	case first[0] != '{':
		return fmt.Sprintf("its first line, %q, is not JSON, and import needs one JSON object per line, such as %s", start(first), exampleLine)
	}
	return ""
}

// start returns at most 60 bytes of a line. More would push the reason out of
// the error, which is cut at wording.MaxShown bytes. Quotes can make each byte
// four times as long.
func start(line []byte) string {
	const longest = 60
	if len(line) <= longest {
		return string(line)
	}
	return strings.ToValidUTF8(string(line[:longest]), "") + "…"
}

// exampleLine is the line of a task.
const exampleLine = `{"name": "order-42-close", "delay": "30m", "http": {"url": "https://shop.example/close"}}`

// passSchedule passes on the line of a schedule as a batch of its own. It
// reports false if ctx ended.
func (im *importer) passSchedule(ctx context.Context, l line, batches chan<- importBatch) bool {
	s, err := readSchedule(l.text)
	if err != nil {
		im.report(BadLine{Line: l.number, Code: "bad_line", Detail: err.Error()})
		im.bar.Add(0, l.size)
		return true
	}
	select {
	case batches <- importBatch{numbers: []int{l.number}, schedule: &s, size: l.size}:
		return true
	case <-ctx.Done():
		return false
	}
}

// send creates the tasks or the schedule of a batch and counts the results.
func (im *importer) send(ctx context.Context, b importBatch) error {
	if b.schedule != nil {
		return im.createSchedule(ctx, b)
	}
	results, err := im.api.Tasks.CreateBatchJSON(ctx, b.texts)
	var refused *client.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // the error of another sender, or an interrupt
	case errors.As(err, &refused) && exit.RefusalCode(refused) == exit.Usage && len(b.numbers) > 1:
		return im.narrow(ctx, b)
	case err != nil:
		return exit.WithOp(err, "import of "+b.lines())
	}
	later, err := im.count(b, results)
	if err != nil || len(later.numbers) == 0 {
		return err
	}
	if !console.Pause(ctx, rateDelay) {
		return context.Cause(ctx)
	}
	return im.send(ctx, later)
}

// rateDelay is the pause before the lines above the namespace's rate are sent
// again.
const rateDelay = time.Second

// count counts the results of a batch. It returns the lines above the rate, to
// be sent later. It returns an error if the server fails or a quota is reached,
// because all other lines would fail too.
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
			im.report(BadLine{Line: b.numbers[i], Code: refused.Code, Detail: wording.Shorten(refused.Message())})
		default:
			failure = fmt.Errorf("line %d: %w", b.numbers[i], r.Err)
		}
	}
	im.mu.Lock()
	im.total.Created += created
	im.total.Skipped += skipped
	im.mu.Unlock()
	im.bar.Add(created+skipped, b.size)
	return later, failure
}

// narrow sends the halves of a batch that was refused as a whole, to find the
// line that is the cause. One cause is JSON that is nested too deeply.
func (im *importer) narrow(ctx context.Context, b importBatch) error {
	for _, half := range b.halves() {
		if err := im.send(ctx, half); err != nil {
			return err
		}
	}
	return nil
}

// report counts and prints a refused line.
func (im *importer) report(bad BadLine) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.total.Refused++
	if im.total.Refused > MaxReported {
		return
	}
	im.total.Errors = append(im.total.Errors, bad)
	if !im.con.JSON {
		im.con.Notef("line %d: %s", bad.Line, wording.Printable(bad.Detail))
	}
	if im.total.Refused == MaxReported {
		im.con.Notef("%d lines were refused; further ones are only counted", MaxReported)
	}
}

// conclude prints the totals. stopped is the error that ended the import early,
// or nil.
func (im *importer) conclude(stopped error, took time.Duration) error {
	im.mu.Lock()
	t := im.total
	im.mu.Unlock()
	t.Seconds = took.Seconds()
	var form *usage.Error
	if errors.As(stopped, &form) { // no line was sent
		return stopped
	}
	if im.con.JSON {
		if err := im.con.Object(t); err != nil {
			return err
		}
	} else {
		im.con.Linef("created %d%s, skipped %d existing, refused %d, in %.1f s (%s)",
			t.Created, wording.AndSchedules(t.Schedules), t.Skipped, t.Refused, took.Seconds(), wording.PerSecond(t.Created, took))
	}
	switch {
	case stopped != nil:
		return fmt.Errorf("import stopped early; repeat the command to continue: %w", stopped)
	case t.Refused > 0:
		return exit.With(exit.Failure, fmt.Errorf("refused lines: %d", t.Refused))
	}
	return nil
}
