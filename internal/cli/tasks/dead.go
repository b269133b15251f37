package tasks

import (
	"context"
	"fmt"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/usage"
)

// Dead has ls, retry and cancel for dead tasks only.
type Dead struct {
	Ls    deadLs    `cmd:"" aliases:"list" help:"List dead tasks with the reasons, the latest first."`
	Retry deadRetry `cmd:"" help:"Retry dead tasks."`
	Rm    deadRm    `cmd:"" aliases:"delete" help:"Cancel dead tasks. Their bodies are deleted at once, their records when retention ends."`
}

var dead = []string{string(client.StateDead)}

type deadLs struct{ Ls }

func (deadLs) Help() string { return "The same as foliot ls --state dead --sort ended." }

func (c *deadLs) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if len(c.State) > 0 {
		return usage.Errorf("--state", "the command is about dead tasks only")
	}
	if c.Sort != "" {
		return usage.Errorf("--sort", "dead tasks are listed by their end, the latest first")
	}
	c.State, c.Sort = dead, "ended"
	return c.Ls.Run(ctx, con, api)
}

type deadRetry struct{ Retry }

func (deadRetry) Help() string { return "The same as foliot retry --state dead, or foliot retry NAME." }

func (c *deadRetry) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if err := c.onlyDead(); err != nil {
		return err
	}
	return c.Retry.Run(ctx, con, api)
}

type deadRm struct{ manyFlags }

func (deadRm) Help() string {
	return "The same as foliot cancel --state dead. A task that is named must be dead."
}

// Run cancels the tasks. A named task must be dead and must not change until it
// is cancelled, so that a typing error cannot cancel a live task.
func (c *deadRm) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if err := c.onlyDead(); err != nil {
		return err
	}
	return c.each(ctx, con, api.Tasks.CancelMatching, "cancel", "cancelled", func(name string) error {
		t, err := api.Tasks.Get(ctx, name)
		if err != nil {
			return exit.WithOp(err, "cancel "+name)
		}
		if t.State != client.StateDead {
			return exit.With(exit.Conflict, fmt.Errorf("%s is %s, not dead: use foliot cancel to cancel a live task", name, t.State))
		}
		done, err := api.Tasks.Cancel(ctx, name, client.IfMatch(t.ETag()))
		if err != nil {
			return err
		}
		return con.Resultf(done.Task, "cancelled %s", name)
	})
}

// onlyDead adds the state to a filter, and makes a filter of --all. Without
// both, and with names, the flags select nothing.
func (f *manyFlags) onlyDead() error {
	if len(f.State) > 0 {
		return usage.Errorf("--state", "the command is about dead tasks only")
	}
	if len(f.Names) == 0 && (f.All || f.Given()) {
		f.State, f.All = dead, false
	}
	return nil
}
