package transfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
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

func (c *Import) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Parallel < 1 || c.Parallel > 64 {
		return usage.Errorf("--parallel", "%d is not between 1 and 64", c.Parallel)
	}
	if c.Batch < 1 || c.Batch > task.MaxBatch {
		return usage.Errorf("--batch", "%d is not between 1 and %d", c.Batch, task.MaxBatch)
	}
	in, size, err := usage.Open(c.File, con.In)
	if err != nil {
		return err
	}
	defer in.Close()

	im := &importer{con: con, api: api, batch: c.Batch, bar: console.NewProgress(con, "imported", size)}
	began := time.Now()
	err = im.run(ctx, io.TeeReader(in, im.bar), c.Parallel)
	im.bar.Done()
	return im.conclude(err, time.Since(began))
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
func (im *importer) run(ctx context.Context, in io.Reader, parallel int) error {
	senders, ctx := errgroup.WithContext(ctx)
	batches := make(chan importBatch)
	read := make(chan error, 1)
	go func() {
		read <- im.read(ctx, in, batches)
		close(batches)
	}()
	for range parallel {
		senders.Go(func() error { return im.sendAll(ctx, batches) })
	}
	if err := senders.Wait(); err != nil {
		return err
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

// maxLine is the longest line of an import: the largest body and 64 KiB for the
// other fields, with every byte escaped as \u0000.
const maxLine = 6 * (task.MaxBody + 64<<10)

// read collects the lines into batches until the file or ctx ends. If ctx ends,
// read returns its cause, because the senders may see only that batches is closed.
func (im *importer) read(ctx context.Context, in io.Reader, batches chan<- importBatch) error {
	var b importBatch
	pass := func(b importBatch) {
		if len(b.numbers) == 0 {
			return
		}
		select {
		case batches <- b:
		case <-ctx.Done():
		}
	}
	lines, number, first := bufio.NewScanner(in), 0, true
	lines.Buffer(nil, maxLine+len("\n"))
	for ctx.Err() == nil && lines.Scan() {
		number++
		text := bytes.TrimSpace(lines.Bytes())
		if number == 1 {
			if plain, err := usage.Text(text); err == nil { // formProblem names UTF-16
				text = bytes.TrimSpace(plain)
			}
		}
		if len(text) == 0 {
			continue
		}
		if problem := formProblem(text); first && problem != "" {
			return usage.Errorf("", "the file cannot be imported: %s", problem)
		}
		first = false
		text = bytes.Clone(text) // the scanner uses its buffer again
		if isSchedule(text) {
			s, err := readSchedule(text)
			if err != nil {
				im.report(BadLine{Line: number, Code: "bad_line", Detail: err.Error()})
				continue
			}
			pass(importBatch{numbers: []int{number}, schedule: &s})
			continue
		}
		if b.full(len(text), im.batch) {
			pass(b)
			b = importBatch{}
		}
		if reason := b.add(number, text); reason != "" {
			im.report(BadLine{Line: number, Code: "bad_line", Detail: reason})
		}
	}
	pass(b)
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d is longer than %d bytes, the longest that a task can need: remove it", number+1, maxLine)
	case err != nil:
		return fmt.Errorf("read line %d: %w", number+1, err)
	}
	return context.Cause(ctx)
}

// formProblem returns an error text with a remedy if the first line shows that
// the file does not have one JSON object per line, and "" otherwise.
func formProblem(first []byte) string {
	_, encoding := usage.Text(first)
	switch {
	case encoding != nil:
		return encoding.Error()
	case first[0] == '[':
		return "it is a JSON array, and import needs one JSON object per line: `jq -c '.[]' FILE | foliot import -`"
	case string(first) == "{":
		return "its objects take several lines, and import needs one JSON object per line: `jq -c . FILE | foliot import -`"
	case first[0] != '{' && bytes.ContainsAny(first, ",;\t"):
		return fmt.Sprintf("its first line, %q, looks like CSV, and import needs one JSON object per line, such as %s", wording.ShortenTo(string(first), longestStart), exampleLine)
	case first[0] != '{':
		return fmt.Sprintf("its first line, %q, is not JSON, and import needs one JSON object per line, such as %s", wording.ShortenTo(string(first), longestStart), exampleLine)
	}
	return ""
}

// longestStart bounds the quoted start of a line. More would push the reason out
// of the error, which is cut at wording.MaxShown bytes. Quotes can make each byte
// four times as long.
const longestStart = 60

// exampleLine is the line of a task.
const exampleLine = `{"name": "order-42-close", "delay": "30m", "http": {"url": "https://shop.example/close"}}`

func (im *importer) send(ctx context.Context, b importBatch) error {
	if b.schedule != nil {
		return im.createSchedule(ctx, b)
	}
	results, err := admin.New(im.api).Import(ctx, b.texts)
	var refused *client.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx) // the error of another sender, or an interrupt
	case errors.As(err, &refused) && exit.RefusalCode(refused) == exit.Usage && len(b.numbers) > 1:
		for i := range b.numbers { // one of them is the cause, such as JSON that is nested too deeply
			if err := im.send(ctx, importBatch{numbers: b.numbers[i : i+1], texts: b.texts[i : i+1]}); err != nil {
				return err
			}
		}
		return nil
	case err != nil:
		return exit.WithOp(err, "import of "+b.lines())
	}
	later, err := im.count(b, results)
	if err != nil || len(later.numbers) == 0 {
		return err
	}
	if !console.Pause(ctx, console.RateDelay) {
		return context.Cause(ctx)
	}
	return im.send(ctx, later)
}

// count counts the results of a batch. It returns the lines above the rate, to
// be sent later. It returns an error if the server fails or a quota is reached,
// because all other lines would fail too.
func (im *importer) count(b importBatch, results []admin.Imported) (later importBatch, failure error) {
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
		case errors.As(r.Err, &refused) && refused.Status < http.StatusInternalServerError && !errors.Is(r.Err, client.ErrQuota):
			im.report(BadLine{Line: b.numbers[i], Code: refused.Code, Detail: wording.Shorten(refused.Message())})
		default:
			failure = fmt.Errorf("line %d: %w", b.numbers[i], r.Err)
		}
	}
	im.mu.Lock()
	im.total.Created += created
	im.total.Skipped += skipped
	im.mu.Unlock()
	im.bar.Add(created + skipped)
	return later, failure
}

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
	if _, ok := errors.AsType[*usage.Error](stopped); ok { // no line was sent
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
