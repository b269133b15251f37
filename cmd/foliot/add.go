package main

import (
	"context"
	"io"
	"strings"

	"github.com/foliot/foliot/client"
)

type addCmd struct {
	URL string `arg:"" help:"The URL to call."`

	whenFlags

	Name string `placeholder:"NAME" help:"The task's name, unique (default: its id)."`

	taskFlags

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
	at, delay, err := c.resolve()
	if err != nil {
		return in, err
	}
	in, err = c.spec(c.URL, stdin)
	in.Name, in.At, in.Delay = c.Name, at, delay
	return in, err
}
