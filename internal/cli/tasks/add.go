package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Add is the command foliot add.
type Add struct {
	URL string `arg:"" optional:"" help:"The URL to call. Omit it with --kind."`

	flags.When

	Name    string `placeholder:"NAME" help:"The unique name of the task (default: its id)."`
	Replace bool   `help:"Replace a task with the same name, in any state."`

	flags.Task

	Wait bool `help:"Wait until the task ends, and print the result. Exit with 6 if it was not delivered."`
}

func (Add) Help() string {
	return `Creates a task. When the command returns, the task is durable: it survives a crash and a restart of the server.

Examples:

    foliot add http://127.0.0.1:9000/hello --in 5s
    foliot add https://shop.example/orders/42/close --at 2030-11-20T20:00:00Z --name order-42-close --json '{"order": 42}'
    foliot add https://shop.example/remind --at '2030-11-21 09:00' --timezone Europe/Berlin
    foliot add https://alerts.example/backup-missing --in 25h --name backup --replace
    foliot add --kind close-order --args '{"order": 42}' --in 30m
    foliot add http://127.0.0.1:9000/report --in 1s -d @report.csv -H 'Content-Type: text/csv' --wait

A second task with the same name is refused with exit code 4. This holds until the record of the first task is removed,
so a script that names its tasks can safely run again. With --replace, the new task replaces the first one, which is not sent any more, unless
an attempt of it is under way.`
}

func (c *Add) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	in, err := c.input(con.In)
	if err != nil {
		return err
	}
	create := api.Tasks.Create
	if c.Replace {
		create = api.Tasks.Put
	}
	t, err := create(ctx, in)
	switch {
	case errors.Is(err, client.ErrExists):
		return nameTaken(c.Name, err)
	case err != nil:
		return exit.WithOp(err, strings.TrimSpace("add "+c.Name))
	}
	line := "created %s, due %s"
	if t.UnderWay {
		line += "; an attempt of the task before may be under way, or may still begin"
	}
	if !c.Wait {
		return con.Resultf(t, line, t.Name, wording.Instant(t.DueAt))
	}
	if !con.JSON {
		con.Linef(line, wording.Printable(t.Name), wording.Instant(t.DueAt))
	}
	return delivery.Wait(ctx, con, api, t)
}

func (c *Add) input(stdin io.Reader) (in client.Spec, err error) {
	at, delay, err := c.Resolve(time.Now())
	if err != nil {
		return in, err
	}
	if c.Replace && c.Name == "" {
		return in, usage.Errorf("--replace", "it needs --name, because only a task with the same name is replaced")
	}
	in, err = c.Spec(c.URL, stdin)
	in.Name, in.At, in.Delay = c.Name, at, delay
	return in, err
}

// nameTaken returns the error for a task name that is taken, with the state and
// the id of the task that has it.
func nameTaken(name string, err error) error {
	has := ""
	if e, ok := errors.AsType[*client.Error](err); ok && e.ID != "" {
		has = fmt.Sprintf(" (%s, id %s)", e.State, e.ID)
	}
	return exit.Reword(err, "add %s: a task with that name exists%s: pass --replace to replace it, or choose another name", name, has)
}
