package admin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Cluster has the commands of foliot cluster.
type Cluster struct {
	Nodes  clusterNodesCmd  `cmd:"" help:"List the servers that share a store."`
	Shards clusterShardsCmd `cmd:"" help:"Show the owners of the shards."`
	Drain  clusterDrainCmd  `cmd:"" help:"Drain a server: move its shards to the others."`
}

type clusterNodesCmd struct{}

// Help shows examples below the usage line.
func (clusterNodesCmd) Help() string {
	return `Lists the servers that share a Redis: name, state, number of shards that it owns (SHARDS) and should own (WANTED), version, uptime,
time of the last heartbeat, and address of the API. A server without a heartbeat has ended, hangs or cannot reach Redis: the others
take its shards when their leases end. A server with its own store is listed alone, without shards. This needs an operator's token.

Examples:

    foliot cluster nodes
    foliot cluster nodes -o json | jq -r 'select(.ready | not).name'`
}

// Run prints the list.
func (clusterNodesCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	c, err := api.Admin.Cluster(ctx)
	if err != nil {
		return err
	}
	out := con.Table([]string{"NODE", "STATE", "SHARDS", "WANTED", "VERSION", "UP", "LAST SEEN", "ADDRESS"})
	for _, n := range c.Nodes {
		if err := out.Item(n, nodeRow(&n, c.Store == "shared")...); err != nil {
			return err
		}
	}
	return out.End()
}

func nodeRow(n *client.Node, shared bool) []string {
	owned, wanted := "-", "-"
	if shared {
		owned, wanted = strconv.Itoa(n.Owned), strconv.Itoa(n.Wanted)
	}
	up := n.Uptime.Truncate(time.Second).String()
	return []string{cmp.Or(n.Name, "-"), nodeState(n), owned, wanted, n.Version, up, wording.InstantOr(n.LastSeenAt, "-"), cmp.Or(n.Address, "-")}
}

// nodeState returns the state of a node in one or two words.
func nodeState(n *client.Node) string {
	switch {
	case n.NameTaken:
		return "name taken"
	case !n.Ready && n.Self:
		return "not ready"
	case !n.Ready:
		return "no heartbeat"
	case n.Draining && n.Owned > 0:
		return "draining"
	case n.Draining:
		return "drained"
	}
	return "ready"
}

type clusterShardsCmd struct {
	All bool `short:"a" help:"Show each shard, instead of a line for each server."`
}

// Help shows examples below the usage line.
func (clusterShardsCmd) Help() string {
	return `The tasks of a shared store are divided into shards. At any time, one server delivers the tasks of a shard. The command shows for
each server: the number of its shards, the number of their running tasks, their earliest due time, and the first end of a lease
that is not renewed. A dash stands for shards without an owner; a live server takes them within seconds.

With --all, the command shows for each shard: its number, owner, number of running tasks, next due time, end of its lease, and
how often a server has taken it. This needs an operator's token.

Examples:

    foliot cluster shards
    foliot cluster shards --all -o json | jq 'select(.owner == null)'`
}

// Run prints the shards.
func (c *clusterShardsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	shards, err := api.Admin.Shards(ctx)
	if err != nil {
		return err
	}
	if c.All {
		return eachRow(con, []string{"SHARD", "OWNER", "RUNNING", "NEXT DUE", "LEASE ENDS", "EPOCH"}, shards, func(s *client.Shard) []string {
			return []string{
				strconv.Itoa(s.Shard), cmp.Or(s.Owner, "-"), strconv.Itoa(s.Running), wording.InstantOr(s.NextDue, "-"), wording.InstantOr(s.Until, "-"), strconv.FormatUint(s.Epoch, 10),
			}
		})
	}
	return eachRow(con, []string{"OWNER", "SHARDS", "RUNNING", "NEXT DUE", "FIRST LEASE ENDS"}, sharesOf(shards), func(s *share) []string {
		return []string{cmp.Or(s.Owner, "-"), strconv.Itoa(s.Shards), strconv.Itoa(s.Running), wording.InstantOr(s.NextDue, "-"), wording.InstantOr(s.Until, "-")}
	})
}

// share sums up the shards of one node.
type share struct {
	Owner   string    `json:"owner,omitempty"`
	Shards  int       `json:"shards"`
	Running int       `json:"running"`
	NextDue time.Time `json:"next_due,omitzero"`
	Until   time.Time `json:"until,omitzero"` // when the first lease ends
}

// sharesOf sums up the shards by owner, in the order of the names. Shards
// without an owner come first.
func sharesOf(shards []*client.Shard) []*share {
	by := map[string]*share{}
	for _, s := range shards {
		of := by[s.Owner]
		if of == nil {
			of = &share{Owner: s.Owner}
			by[s.Owner] = of
		}
		of.Shards++
		of.Running += s.Running
		of.NextDue, of.Until = earlier(of.NextDue, s.NextDue), earlier(of.Until, s.Until)
	}
	list := make([]*share, 0, len(by))
	for _, owner := range slices.Sorted(maps.Keys(by)) {
		list = append(list, by[owner])
	}
	return list
}

// earlier returns the earlier of two times. A zero time means no time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// eachRow prints a complete list.
func eachRow[T any](con *console.Console, heading []string, list []*T, row func(*T) []string) error {
	return console.List(con, heading, func(yield func(*T, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}, row)
}

type clusterDrainCmd struct {
	Node  string `arg:"" help:"The name of the server, as foliot cluster nodes shows it."`
	Undo  bool   `help:"End the drain: let the server take shards again."`
	Force bool   `help:"Drain even the last server that delivers. Then nothing is delivered until --undo, or until another server starts."`
}

// Help shows examples below the usage line.
func (clusterDrainCmd) Help() string {
	return `A drained server gives its shards to the others at once and starts no attempts. It finishes its running attempts and continues to
serve the API. The drain ends with --undo, or when the server stops: after a restart the server takes shards again. If all other
servers stop, a server that was drained without --force takes their shards nevertheless, so that tasks are delivered.

The last server that has a heartbeat and is not drained can be drained only with --force. Its shards go to servers that were drained
without --force. If there are none, no server delivers: tasks are accepted and kept, and become late, until --undo, or until
another server starts. foliot doctor reports this.

A restart needs no drain: a server that is stopped by a signal gives its shards away by itself. This needs an operator's token
of scope admin.

Examples:

    foliot cluster drain node-2
    foliot cluster drain node-2 --undo`
}

// Run starts or ends the drain.
func (c *clusterDrainCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	var n *client.Node
	var err error
	switch {
	case c.Undo && c.Force:
		return usage.Errorf("--undo, --force", "pass only one of them")
	case c.Undo:
		n, err = api.Admin.Undrain(ctx, c.Node)
	case c.Force:
		n, err = api.Admin.ForceDrain(ctx, c.Node)
	default:
		n, err = api.Admin.Drain(ctx, c.Node)
	}
	switch {
	case errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrNamespace):
		return exit.With(exit.NotFound, err)
	case err != nil:
		return err
	case con.JSON:
		return con.Object(n)
	case c.Undo:
		con.Linef("%s is not drained any more; it will own %d shards", n.Name, n.Wanted)
	case n.Owned > 0 && !c.Force:
		con.Linef("%s is drained: its %d shards go to the others", n.Name, n.Owned)
	case c.Force && noneDelivers(ctx, api):
		con.Linef("%s is drained, and no other server takes its shards: nothing is delivered until `foliot cluster drain %s --undo`, or until another server starts", n.Name, n.Name)
	default:
		con.Linef("%s is drained", n.Name)
	}
	return nil
}

// noneDelivers reports whether no server should own shards. It reports false if
// the request fails.
func noneDelivers(ctx context.Context, api *client.Client) bool {
	c, err := api.Admin.Cluster(ctx)
	return err == nil && !doctor.Delivered(c.Nodes)
}
