package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type addCmd struct {
	URL string `arg:"" help:"The URL to call."`

	whenFlags

	Name    string `placeholder:"NAME" help:"The task's name, unique (default: its id)."`
	Replace bool   `help:"Replace a task of that name, in any state."`

	taskFlags

	Wait bool `help:"Wait for the task's end and print how it ended; exit 6 when it was not delivered."`
}

// Help shows examples below the usage line.
func (addCmd) Help() string {
	return `Creates a task. When the command returns, the task is durable: neither a crash nor a restart of the server loses it.

Examples:

    foliot add http://127.0.0.1:9000/hello --in 5s
    foliot add https://shop.example/orders/42/close --at 2030-11-20T20:00:00Z --name order-42-close --json '{"order": 42}'
    foliot add https://alerts.example/backup-missing --in 25h --name backup --replace
    foliot add http://127.0.0.1:9000/report --in 1s -d @report.csv -H 'Content-Type: text/csv' --wait

A second task of the same name is refused with exit code 4, also when the first one is finished, for as long as its record is kept. So a script
that gives names may be repeated. With --replace the new task takes the place of the first one, which is not sent any more.`
}

// Run creates the task.
func (c *addCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	in, err := c.input(con.in)
	if err != nil {
		return err
	}
	create := api.Tasks.Create
	if c.Replace {
		create = func(ctx context.Context, in client.Spec) (*client.Task, error) { return api.Tasks.Put(ctx, in) }
	}
	t, err := create(ctx, in)
	switch {
	case errors.Is(err, client.ErrExists):
		return nameTaken(c.Name, err)
	case err != nil:
		return renamed(err, strings.TrimSpace("add "+c.Name))
	}
	if !c.Wait {
		return sayTask(con, t, "created %s, due %s", t.Name, wording.Instant(t.DueAt))
	}
	if !con.json {
		con.sayf("created %s, due %s", wording.Printable(t.Name), wording.Instant(t.DueAt))
	}
	return wait(ctx, con, api, t)
}

// input returns the task to ask for.
func (c *addCmd) input(stdin io.Reader) (in client.Spec, err error) {
	at, delay, err := c.resolve(time.Now())
	if err != nil {
		return in, err
	}
	if c.Replace && c.Name == "" {
		return in, usage.Errorf("--replace", "it needs --name: only a task that has the same name is replaced")
	}
	in, err = c.spec(c.URL, stdin)
	in.Name, in.At, in.Delay = c.Name, at, delay
	return in, err
}

// nameTaken returns why a task could not be created under a name, with the state
// and the id of the task that has it.
func nameTaken(name string, err error) error {
	has := ""
	if e, ok := errors.AsType[*client.Error](err); ok && e.ID != "" {
		has = fmt.Sprintf(" (%s, id %s)", e.State, e.ID)
	}
	return &fault{exitCode(err), fmt.Errorf("add %s: a task of that name exists%s: --replace puts this one in its place", name, has)}
}
