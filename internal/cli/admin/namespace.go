package admin

import (
	"context"
	"errors"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
)

// Namespace has the commands of foliot namespace.
type Namespace struct {
	Ls  namespaceLsCmd  `cmd:"" aliases:"list" help:"List namespaces with their use and quotas."`
	Set namespaceSetCmd `cmd:"" help:"Create a namespace, change its quotas, or suspend it."`
	Rm  namespaceRmCmd  `cmd:"" aliases:"delete" help:"Remove an empty namespace."`
}

type namespaceLsCmd struct{}

func (namespaceLsCmd) Help() string {
	return `Lists namespaces. PENDING counts scheduled and running tasks, and schedules; its MAX is --max-pending. BYTES is the size of
all records; its MAX is --max-bytes. CREATES/S is the number of tasks that may be created per second.
STATE also says if tasks of a kind are allowed (kinds).`
}

func (namespaceLsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return console.List(con, namespaceHeading, admin.New(api).Namespaces.List(ctx), namespaceRow)
}

var namespaceHeading = []string{"NAMESPACE", "PENDING", "MAX", "BYTES", "MAX", "CREATES/S", "STATE"}

func namespaceRow(n *admin.Namespace) []string {
	rate := "-"
	if n.CreateRate > 0 {
		rate = number(n.CreateRate)
	}
	state := "active"
	if n.Suspended {
		state = "suspended"
	}
	if n.Kinds {
		state += ", kinds"
	}
	return []string{n.Name, count(n.Counts.Scheduled + n.Counts.Running + n.Schedules), quota(n.MaxPending), count(n.Counts.Bytes), quota(n.MaxBytes), rate, state}
}

func quota(n int64) string {
	if n == 0 {
		return "-"
	}
	return count(n)
}

type namespaceSetCmd struct {
	Name string `arg:"" name:"namespace" help:"The name of the namespace."`

	MaxPending   *flags.WholeLimit  `placeholder:"N" help:"Most tasks that may be scheduled or running, schedules included."`
	MaxBytes     *flags.WholeLimit  `placeholder:"BYTES" help:"Most bytes that all records may take, bodies included."`
	CreateRate   *flags.NumberLimit `placeholder:"N" help:"Tasks that may be created per second, at each server."`
	CreateBurst  *int               `placeholder:"N" help:"Tasks that may be created at once after a quiet time (default: those of one second)."`
	ChangeRate   *flags.NumberLimit `placeholder:"N" help:"Tasks and schedules that may be changed per second, at each server (default: same as --create-rate)."`
	ReadRate     *flags.NumberLimit `placeholder:"N" help:"Reads per second, at each server (default: 1000, and 10000 at once)."`
	EditRate     *flags.NumberLimit `placeholder:"N" help:"Edits of queues, tokens and secrets per second by tokens of the namespace, at each server (default: 2, and 50 at once)."`
	Suspended    *bool              `negatable:"" help:"Suspend the namespace: no task is created or delivered, no schedule fires, and the tokens of the namespace can only read."`
	Kinds        *bool              `negatable:"" help:"Allow tasks with a kind: a Go program runs the tasks of the namespace."`
	HidePayloads *bool              `negatable:"" help:"Hide the bodies and headers of requests, and the replies of receivers, from tokens of scope read."`
}

func (namespaceSetCmd) Help() string {
	return `Creates a namespace, or changes the given settings and keeps the others. The value unlimited removes a limit or restores its
default. This needs an operator's token of scope admin.

While a namespace is suspended, its tasks wait and use no attempt. An operator can still cancel and change them.

Examples:

    foliot namespace set acme
    foliot namespace set acme --max-pending 1000000 --create-rate 500
    foliot namespace set acme --suspended
    foliot namespace set acme --no-suspended --max-pending unlimited`
}

func (c *namespaceSetCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	n, err := admin.New(api).Namespaces.Get(ctx, c.Name)
	if errors.Is(err, client.ErrNotFound) {
		n, err = &admin.Namespace{}, nil
	}
	if err != nil {
		return err
	}
	settings := n.NamespaceSettings
	if err := flags.Merge(&settings, c); err != nil {
		return err
	}
	n, err = admin.New(api).Namespaces.Put(ctx, c.Name, settings, connect.Unchanged(n.ETag()))
	if errors.Is(err, client.ErrPrecondition) {
		return exit.Reword(err, "put namespace %s: another client has just changed it; check it with `foliot namespace ls`, and retry", c.Name)
	}
	if err != nil {
		return err
	}
	out := con.Table(namespaceHeading)
	return errors.Join(out.Item(n, namespaceRow(n)...), out.End(), exit.Applied(n.Unconfirmed))
}

type namespaceRmCmd struct {
	Name string `arg:"" name:"namespace" help:"The name of the namespace."`
}

func (namespaceRmCmd) Help() string {
	return `Removes a namespace with its queue settings and its secrets. Its tokens must be revoked before, and it must contain no tasks.
Finished tasks count too: they are removed when their retention ends. The namespace default cannot be removed.

Examples:

    foliot namespace rm acme`
}

func (c *namespaceRmCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	n, err := admin.New(api).Namespaces.Delete(ctx, c.Name)
	if errors.Is(err, client.ErrNotFound) {
		return exit.With(exit.NotFound, err)
	}
	if err != nil {
		return err
	}
	return errors.Join(con.Resultf(n, "removed %s", c.Name), exit.Applied(n.Unconfirmed))
}
