package cli

import (
	"context"
	"errors"
	"net/http"

	"github.com/foliot/foliot/client"
)

type namespaceCmd struct {
	Ls  namespaceLsCmd  `cmd:"" help:"List namespaces: what they have and what they may."`
	Set namespaceSetCmd `cmd:"" help:"Make a namespace, change its quotas, or suspend it."`
	Rm  namespaceRmCmd  `cmd:"" help:"Remove a namespace of which nothing is left."`
}

type namespaceLsCmd struct{}

// Help explains the columns below the usage line.
func (namespaceLsCmd) Help() string {
	return `Lists namespaces: name; how many tasks are scheduled or running, with the schedules, which count as one each, and how many may be (--max-pending);
how many bytes the records that are kept have, and may have (--max-bytes); how many tasks may be created in a second; and whether it is suspended.`
}

// Run prints the list.
func (namespaceLsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return listing(con, namespaceHeading, api.Namespaces.List(ctx), namespaceRow)
}

var namespaceHeading = []string{"NAMESPACE", "PENDING", "MAX", "BYTES", "MAX", "CREATES/S", "STATE"}

func namespaceRow(n *client.Namespace) []string {
	rate := "-"
	if n.CreateRate > 0 {
		rate = number(n.CreateRate)
	}
	state := "active"
	if n.Suspended {
		state = "suspended"
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
	Name string `arg:"" name:"namespace" help:"Its name."`

	MaxPending  *wholeLimit  `placeholder:"N" help:"How many tasks may be scheduled or running."`
	MaxBytes    *wholeLimit  `placeholder:"BYTES" help:"How many bytes all kept records may take, bodies included."`
	CreateRate  *numberLimit `placeholder:"N" help:"How many tasks may be created in a second, at each server."`
	CreateBurst *int         `placeholder:"N" help:"How many at once after a silence (default: as many as a second brings)."`
	ChangeRate  *numberLimit `placeholder:"N" help:"How many tasks and schedules may be changed in a second, at each server (default: same as --create-rate)."`
	ReadRate    *numberLimit `placeholder:"N" help:"How many reads may be made in a second, at each server (default: 1000, and 10000 at once)."`
	EditRate    *numberLimit `placeholder:"N" help:"How many edits of queues, tokens and secrets its own tokens may make in a second, at each server (default: 2, and 50 at once)."`
	Suspended   *bool        `negatable:"" help:"Stop the namespace: no task is created or delivered, no schedule fires, and its own tokens can only read."`
}

// Help shows examples below the usage line.
func (namespaceSetCmd) Help() string {
	return `Changes only the values that are given. The value unlimited removes a limit, or restores its default. It takes an operator's token of scope admin.

While a namespace is suspended its tasks wait and spend no attempt. An operator can still cancel and change them.

Examples:

    foliot namespace set acme
    foliot namespace set acme --max-pending 1000000 --create-rate 500
    foliot namespace set acme --suspended
    foliot namespace set acme --no-suspended --max-pending unlimited`
}

// Run makes or changes the namespace.
func (c *namespaceSetCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	n, err := api.Namespaces.Get(ctx, c.Name)
	condition := client.IfNoneMatch()
	switch {
	case missing(err):
		n = &client.Namespace{}
	case err != nil:
		return err
	case n.Version > 0:
		condition = client.IfMatch(n.ETag())
	}
	settings := n.NamespaceSettings
	setLimit(&settings.MaxPending, c.MaxPending)
	setLimit(&settings.MaxBytes, c.MaxBytes)
	setLimit(&settings.CreateRate, c.CreateRate)
	set(&settings.CreateBurst, c.CreateBurst)
	setLimit(&settings.ChangeRate, c.ChangeRate)
	setLimit(&settings.ReadRate, c.ReadRate)
	setLimit(&settings.EditRate, c.EditRate)
	set(&settings.Suspended, c.Suspended)
	n, err = api.Namespaces.Put(ctx, c.Name, settings, condition)
	if errors.Is(err, client.ErrPrecondition) {
		return &fault{exitConflict, errors.New("put namespace " + c.Name + ": somebody else changed it just now; look at it with `foliot namespace ls`, and try again")}
	}
	if err != nil {
		return err
	}
	if con.json {
		return con.object(n)
	}
	out := con.table(namespaceHeading)
	return errors.Join(out.add(namespaceRow(n)...), out.end())
}

type namespaceRmCmd struct {
	Name string `arg:"" name:"namespace" help:"Its name."`
}

// Help shows examples below the usage line.
func (namespaceRmCmd) Help() string {
	return `Removes a namespace with what was decided of its queues, and its secrets. Its tokens must be revoked, and no task of it may be left, finished
ones included: they go when their retention ends.

Examples:

    foliot namespace rm acme`
}

// Run removes the namespace.
func (c *namespaceRmCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	n, err := api.Namespaces.Delete(ctx, c.Name)
	if missing(err) {
		return &fault{exitNotFound, err}
	}
	if err != nil {
		return err
	}
	if con.json {
		return con.object(n)
	}
	con.sayf("removed %s", c.Name)
	return nil
}

// missing reports whether the server says that there is no such namespace. It
// has another code than a missing task, as a request may name both.
func missing(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}
