package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
)

type addCmd struct {
	URL string `arg:"" help:"The URL to call."`

	whenFlags

	Data   string   `short:"d" xor:"body" placeholder:"BODY" help:"Send this body as it is; @FILE reads a file, @- standard input."`
	JSON   string   `xor:"body" placeholder:"BODY" help:"Send this body as JSON; @FILE reads a file, @- standard input."`
	Header []string `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Send this header. Repeat it for more."`
	Method string   `short:"X" placeholder:"METHOD" help:"The request's method (default: POST)."`

	Name     string   `placeholder:"NAME" help:"The task's name, unique (default: its id)."`
	Queue    string   `placeholder:"NAME" help:"The task's queue (default: default)."`
	Priority string   `placeholder:"high|normal|low" help:"Which of the due tasks go first (default: normal)."`
	Label    []string `sep:"none" placeholder:"KEY=VALUE" help:"Label the task. Repeat it for more."`

	Timeout     string  `placeholder:"DURATION" help:"Of one attempt (default: the queue's, or 15s)."`
	ExpireAfter string  `placeholder:"DURATION" help:"Do not start it any more when it is this late; 0s: never (default: the queue's, or never)."`
	MaxAttempts *int    `placeholder:"N" help:"Give up after so many attempts; 0: no limit (default: the queue's, or no limit)."`
	MinBackoff  string  `placeholder:"DURATION" help:"Wait at least this long between attempts (default: the queue's, or 1s)."`
	MaxBackoff  string  `placeholder:"DURATION" help:"Wait at most this long between attempts (default: the queue's, or 1h)."`
	MaxAge      string  `placeholder:"DURATION" help:"Give up this long after the first attempt; 0s: never (default: the queue's, or 24h)."`
	OnDead      *string `placeholder:"URL" help:"Called, by a task of its own, when this one dies; an empty one: none (default: the queue's, or none)."`

	Wait bool `help:"Wait for the task's end and print how it ended; exit 6 when it was not delivered."`
}

// Help shows examples below the usage line.
func (addCmd) Help() string {
	return `Creates a task. When the command returns, the task is durable: neither a crash nor a restart of the server loses it.

Examples:

    foliot add http://127.0.0.1:9000/hello --in 5s
    foliot add https://shop.example/orders/42/close --at 2026-11-20T20:00:00Z --name order-42-close --json '{"order": 42}'
    foliot add http://127.0.0.1:9000/report --in 1s -d @report.csv -H 'Content-Type: text/csv' --wait

Creating a second task of the same name is refused with exit code 4, so a script that gives names may be repeated.`
}

// Run creates the task.
func (c *addCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	in, err := c.input(con.in)
	if err != nil {
		return err
	}
	t, err := api.Tasks.Create(ctx, in)
	if err != nil {
		return renamed(err, strings.TrimSpace("add "+c.Name))
	}
	if !c.Wait {
		return sayTask(con, t, "created %s, due %s", t.Name, instant(t.DueAt))
	}
	if !con.json {
		con.sayf("created %s, due %s", printable(t.Name), instant(t.DueAt))
	}
	return wait(ctx, con, api, t)
}

// input returns the task to ask for.
func (c *addCmd) input(stdin io.Reader) (in client.Spec, err error) {
	in = client.Spec{
		Name: c.Name, Queue: c.Queue, Priority: client.Priority(c.Priority),
		HTTP: client.HTTP{URL: c.URL, Method: c.Method},
	}
	if err := c.checkURL(); err != nil {
		return in, err
	}
	if err := c.durations(&in); err != nil {
		return in, err
	}
	if n := c.MaxAttempts; n != nil {
		if *n < 0 {
			return in, badInput("--max-attempts", "%d is negative; 0 is no limit", *n)
		}
		in.Retry.MaxAttempts = orNoLimit(*n)
	}
	if c.OnDead != nil {
		in.OnDead = cmp.Or(*c.OnDead, client.Nobody)
	}
	if in.At, in.Delay, err = c.resolve(); err != nil {
		return in, err
	}
	if in.HTTP.Headers, err = parseHeaders(c.Header); err != nil {
		return in, err
	}
	if in.Labels, err = parseLabels(c.Label); err != nil {
		return in, err
	}
	in.HTTP.Body, err = c.body(stdin)
	return in, err
}

// checkURL catches what is mistyped most, before a server is asked: "host/path"
// without a scheme.
func (c *addCmd) checkURL() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return badInput("URL", "%q is no URL to call; it begins with http:// or https:// and a host", c.URL)
	}
	return nil
}

// durations fills in what is a duration, in the order of the help.
func (c *addCmd) durations(in *client.Spec) error {
	for _, f := range []struct {
		flag, value string
		into        *time.Duration
		zero        bool // 0s means that there is no limit
	}{
		{"--timeout", c.Timeout, &in.Timeout, false},
		{"--expire-after", c.ExpireAfter, &in.ExpireAfter, true},
		{"--min-backoff", c.MinBackoff, &in.Retry.MinBackoff, false},
		{"--max-backoff", c.MaxBackoff, &in.Retry.MaxBackoff, false},
		{"--max-age", c.MaxAge, &in.Retry.MaxAge, true},
	} {
		if f.value == "" {
			continue
		}
		d, err := parseDuration(f.flag, f.value)
		switch {
		case err != nil:
			return err
		case d == 0 && !f.zero:
			return badInput(f.flag, "%q is too short", f.value)
		}
		*f.into = orNoLimit(d)
	}
	return nil
}

// orNoLimit returns v in the client's words: there, 0 is the default.
func orNoLimit[T int | time.Duration](v T) T {
	if v == 0 {
		return client.NoLimit
	}
	return v
}

// body returns what --data or --json say.
func (c *addCmd) body(stdin io.Reader) (client.Body, error) {
	switch {
	case c.JSON != "":
		data, err := readBody("--json", c.JSON, stdin)
		if err == nil && !json.Valid(data) {
			err = badInput("--json", "the body is no JSON; --data sends it as it is")
		}
		return client.JSON(json.RawMessage(data)), err
	case c.Data != "":
		data, err := readBody("--data", c.Data, stdin)
		return client.Text(string(data)), err
	}
	return client.Body{}, nil
}

// readBody returns a body that was given directly, as @FILE or as @-.
func readBody(flag, value string, stdin io.Reader) ([]byte, error) {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return []byte(value), nil
	}
	r := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, badInput(flag, "%v", err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, task.MaxBody+1))
	switch {
	case err != nil:
		return nil, badInput(flag, "read the body: %v", err)
	case len(data) > task.MaxBody:
		return nil, badInput(flag, "the body is longer than %d bytes", task.MaxBody)
	}
	return data, nil
}

// parseHeaders reads "Name: value" pairs.
func parseHeaders(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	headers := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return nil, badInput("--header", "%q is no NAME:VALUE", pair)
		}
		if _, twice := headers[name]; twice {
			return nil, badInput("--header", "%q is given twice", name)
		}
		headers[name] = value
	}
	return headers, nil
}
