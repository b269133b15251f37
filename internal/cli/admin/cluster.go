package admin

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
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

func (clusterNodesCmd) Help() string {
	return `Lists the servers that share a store: name, state, number of shards that it owns (SHARDS) and should own (WANTED), version, uptime,
time of the last heartbeat, and address of the API. A server without a heartbeat has ended, hangs or cannot reach the store: the others
take its shards when their leases end. A server with its own store is listed alone, without shards. This needs an operator's token.

Examples:

    foliot cluster nodes
    foliot cluster nodes -o json | jq -r 'select(.ready | not).name'`
}

func (clusterNodesCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	c, err := admin.New(api).Cluster(ctx)
	if err != nil {
		return err
	}
	return console.Items(con, []string{"NODE", "STATE", "SHARDS", "WANTED", "VERSION", "UP", "LAST SEEN", "ADDRESS"}, c.Nodes, func(n admin.Node) []string {
		return nodeRow(&n, c.Store == "shared")
	})
}

func nodeRow(n *admin.Node, shared bool) []string {
	owned, wanted := "-", "-"
	if shared {
		owned, wanted = strconv.Itoa(n.Owned), strconv.Itoa(n.Wanted)
	}
	up := wording.Span(n.Uptime.Truncate(time.Second))
	return []string{cmp.Or(n.Name, "-"), nodeState(n), owned, wanted, n.Version, up, wording.InstantOr(n.LastSeenAt, "-"), cmp.Or(n.Address, "-")}
}

func nodeState(n *admin.Node) string {
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

type clusterShardsCmd struct{}

func (clusterShardsCmd) Help() string {
	return `The tasks of a shared store are divided into shards. At any time, one server delivers the tasks of a shard. The command shows for
each shard: its number, owner, number of running tasks, next due time, end of its lease, and how often a server has taken it. A
dash stands for no owner; a live server takes such a shard within seconds. foliot cluster nodes shows the number of shards of
each server. This needs an operator's token.

Examples:

    foliot cluster shards
    foliot cluster shards -o json | jq 'select(.owner == null)'`
}

func (clusterShardsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	shards, err := admin.New(api).Shards(ctx)
	if err != nil {
		return err
	}
	return console.Items(con, []string{"SHARD", "OWNER", "RUNNING", "NEXT DUE", "LEASE ENDS", "EPOCH"}, shards, func(s *admin.Shard) []string {
		return []string{strconv.Itoa(s.Shard), cmp.Or(s.Owner, "-"), strconv.Itoa(s.Running), wording.InstantOr(s.NextDue, "-"), wording.InstantOr(s.Until, "-"), strconv.FormatUint(s.Epoch, 10)}
	})
}

type clusterDrainCmd struct {
	Node  string `arg:"" help:"The name of the server, as foliot cluster nodes shows it."`
	Undo  bool   `help:"End the drain: let the server take shards again."`
	Force bool   `help:"Drain even the last server that delivers. Then nothing is delivered until --undo, or until another server starts."`
}

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

func (c *clusterDrainCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	var n *admin.Node
	var err error
	switch {
	case c.Undo && c.Force:
		return usage.Errorf("--undo, --force", "pass only one of them")
	case c.Undo:
		n, err = admin.New(api).Undrain(ctx, c.Node)
	case c.Force:
		n, err = admin.New(api).Drain(ctx, c.Node, client.Force())
	default:
		n, err = admin.New(api).Drain(ctx, c.Node)
	}
	switch {
	case err != nil:
		return err
	case con.JSON:
		return con.Object(n)
	case c.Undo:
		con.Linef("%s is not drained any more; it will own %d shards", n.Name, n.Wanted)
	case n.Owned > 0 && !c.Force:
		con.Linef("%s is drained: its %d shards go to the others", n.Name, n.Owned)
	case c.Force:
		con.Linef("%s is drained; if no other server takes its shards, nothing is delivered until `foliot cluster drain %s --undo`, or until another server starts", n.Name, n.Name)
	default:
		con.Linef("%s is drained", n.Name)
	}
	return nil
}
