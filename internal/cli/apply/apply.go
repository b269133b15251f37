package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Command is the command foliot apply.
type Command struct {
	File          []string `short:"f" sep:"none" required:"" placeholder:"FILE|DIR" help:"A file, a directory with files *.yaml and *.yml, or - for standard input. Repeat it for more."`
	DryRun        bool     `help:"Print the differences and change nothing. The exit code is 8 if there are any."`
	Prune         bool     `help:"Delete the objects that apply created with the same --owner and that are not in the files, in the namespaces that the files name."`
	AllNamespaces bool     `help:"With --prune: delete such objects also in namespaces that the files do not name, and these namespaces."`
	Owner         string   `default:"apply" placeholder:"NAME" help:"The owner of the objects that apply creates. Use another name for each set of files."`
	Adopt         bool     `help:"Become the owner of the objects in the files that exist already, so that --prune deletes them later."`
	Yes           bool     `short:"y" help:"Do not ask for confirmation."`
}

// scope is the part of a server in which a command acts: all namespaces, or one.
type scope struct {
	namespace string
	all       bool
}

func (Command) Help() string {
	return `Makes the namespaces, queues and schedules of the server equal to the objects in the files. Prints each difference, and then
makes the changes. A second run changes nothing. A field that is absent in a file gets its default: a change by hand is undone.
Objects that are not in the files stay, unless --prune deletes them.

    kind: queue
    namespace: acme
    name: mail
    rate: 20
    ---
    kind: schedule
    namespace: acme
    name: nightly
    cron: "0 21 * * MON-FRI"
    timezone: Europe/Berlin
    task:
      queue: mail
      http:
        url: https://shop.example/report

The fields have the names of the JSON API. Without the field namespace, an object is in the namespace of --namespace or of the
token. With --namespace or the token of a namespace, apply reads and changes only that namespace.

On a terminal, the command asks before it deletes objects. Without one, it needs --yes for the settings of a queue that has tasks, and
for --all-namespaces. The tasks stay. A namespace that has tasks is not deleted. Tokens, secrets and pauses of queues are not part of
the files. If another client changes an object while apply runs, the command stops with exit code 4.

Examples:

    foliot apply -f settings/ --dry-run
    foliot apply -f settings/ --prune
    foliot export --settings settings.yaml && foliot apply -f settings.yaml --adopt`
}

// Run compares the server with the files, and changes the server unless
// --dry-run is given.
func (c *Command) Run(ctx context.Context, con *console.Console, conn *connect.Flags) error {
	if err := flags.CheckName("--owner", "owner", c.Owner); err != nil {
		return err
	}
	api, err := conn.Client()
	if err != nil {
		return err
	}
	var within scope
	if within.namespace, within.all, err = conn.Scope(ctx, api); err != nil {
		return err
	}
	if c.AllNamespaces && !(c.Prune && within.all) {
		return usage.Errorf("--all-namespaces", "it needs --prune and an operator's token, and no --namespace")
	}
	objects, err := manifest.Read(c.File, con.In, within.namespace)
	if err != nil {
		return err
	}
	if err := refuseOutside(objects, within); err != nil {
		return err
	}
	p := planner{
		all: within.all, owner: c.Owner, adopt: c.Adopt, pruning: c.Prune, server: newServer(conn),
		objects: map[manifest.Key]*manifest.Object{}, queues: map[manifest.Key]client.QueueSettings{},
	}
	plan, err := p.plan(ctx, objects)
	if err != nil {
		return err
	}
	if c.Prune {
		if err := p.prune(ctx, plan, within, c.AllNamespaces); err != nil {
			return err
		}
	}
	if err := plan.print(con); err != nil {
		return err
	}
	if plan.left > 0 {
		con.Notef("not deleted: %s of the owner %s in namespaces that the files do not name (%s): --all-namespaces deletes them",
			wording.Count(plan.left, "object"), c.Owner, strings.Join(plan.leftIn, ", "))
	}
	if c.DryRun {
		return c.reportDryRun(con, plan)
	}
	if err := c.confirm(ctx, con, conn, plan); err != nil {
		return err
	}
	return plan.run(ctx, con, p.server)
}

// refuseOutside returns an error for objects that are not in the scope of the
// command.
func refuseOutside(objects []manifest.Object, within scope) error {
	var errs []error
	for i := range objects {
		switch o := &objects[i]; {
		case within.all:
		case o.Kind == manifest.Namespace:
			errs = append(errs, o.Errorf("", "only an operator without --namespace can apply objects of kind namespace: remove this object from the files"))
		case o.Namespace != within.namespace:
			errs = append(errs, o.Errorf("namespace", "this run acts in the namespace %s only, because of --namespace or the token", within.namespace))
		}
	}
	return errors.Join(errs...)
}

// reportDryRun ends a run without changes.
func (c *Command) reportDryRun(con *console.Console, plan *plan) error {
	if len(plan.changes)+len(plan.blocked) == 0 {
		con.Notef("no differences: %s", wording.Count(plan.unchanged, "object"))
		return nil
	}
	con.Notef("differences in %s; unchanged: %d; nothing was changed", wording.Count(len(plan.changes)+len(plan.blocked), "object"), plan.unchanged)
	return exit.With(exit.Differs, exit.ErrReported)
}

// confirm asks before objects are deleted. Without a terminal, --prune is the
// confirmation, unless a deletion ends the limits of existing tasks or is in a
// namespace that the files do not name.
func (c *Command) confirm(ctx context.Context, con *console.Console, conn *connect.Flags, plan *plan) error {
	deletions, inUse := 0, []string(nil)
	for _, ch := range plan.changes {
		if ch.Action != deleted {
			continue
		}
		deletions++
		if ch.Tasks > 0 {
			inUse = append(inUse, fmt.Sprintf("%s, which has %s", ch.Key, wording.Count(ch.Tasks, "task")))
		}
	}
	if c.Yes || deletions == 0 || !con.CanAsk && inUse == nil && !c.AllNamespaces {
		return nil
	}
	target, err := conn.Target()
	if err != nil {
		return err
	}
	question := fmt.Sprintf("delete %s of %s?", wording.Count(deletions, "object"), target.Server)
	if inUse != nil {
		question += fmt.Sprintf(" This includes the settings of %s. The tasks stay, with the defaults of the server.", strings.Join(inUse, ", and of "))
	}
	return con.Confirm(ctx, "%s", question)
}
