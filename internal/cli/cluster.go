package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type clusterCmd struct {
	Nodes  clusterNodesCmd  `cmd:"" help:"List the servers that share a store."`
	Shards clusterShardsCmd `cmd:"" help:"Say which server has which part of the tasks."`
	Drain  clusterDrainCmd  `cmd:"" help:"Make a server give its part of the tasks to the others."`
}

type clusterNodesCmd struct{}

// Help shows examples below the usage line.
func (clusterNodesCmd) Help() string {
	return `Lists the servers that share a Redis: name, state, how many shards each owns and is to own, version, for how long it is up, when it was last heard
of, and where it serves the API. A silent one ended without a word, or cannot reach Redis: the others take its shards when their leases end. A
server with a store of its own is listed alone, without shards. It takes an operator's token.

Examples:

    foliot cluster nodes
    foliot cluster nodes -o json | jq -r 'select(.ready | not).name'`
}

// Run prints the list.
func (clusterNodesCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	c, err := api.Admin.Cluster(ctx)
	if err != nil {
		return err
	}
	out := con.table([]string{"NODE", "STATE", "SHARDS", "WANTED", "VERSION", "UP", "LAST SEEN", "ADDRESS"})
	for _, n := range c.Nodes {
		if con.json {
			err = con.object(n)
		} else {
			err = out.add(nodeRow(&n, c.Store == "shared")...)
		}
		if err != nil {
			return err
		}
	}
	return endTable(con, out)
}

func nodeRow(n *client.Node, shared bool) []string {
	owned, wanted := "-", "-"
	if shared {
		owned, wanted = strconv.Itoa(n.Owned), strconv.Itoa(n.Wanted)
	}
	up := n.Uptime.Truncate(time.Second).String()
	return []string{cmp.Or(n.Name, "-"), nodeState(n), owned, wanted, n.Version, up, wording.InstantOr(n.LastSeenAt, "-"), cmp.Or(n.Address, "-")}
}

// nodeState is how a node is, in a word or two.
func nodeState(n *client.Node) string {
	switch {
	case n.NameTaken:
		return "name taken"
	case !n.Ready && n.Self:
		return "not ready"
	case !n.Ready:
		return "silent"
	case n.Draining && n.Owned > 0:
		return "draining"
	case n.Draining:
		return "drained"
	}
	return "ready"
}

type clusterShardsCmd struct {
	All bool `short:"a" help:"Each shard, instead of a line for each server."`
}

// Help shows examples below the usage line.
func (clusterShardsCmd) Help() string {
	return `The tasks of a shared store are divided into shards, and of each one server alone delivers. Shows for each server how many shards it owns, how many
of their tasks are running, when the next is due at the earliest, and when the first of its leases ends unless it is renewed. Shards that nobody
owns stand under a dash: somebody takes them within seconds while a server lives. With --all, a line for each shard: its number, owner, tasks
running, next due time, the end of its lease, and how often it was taken. It takes an operator's token.

Examples:

    foliot cluster shards
    foliot cluster shards --all -o json | jq 'select(.owner == null)'`
}

// Run prints the shards.
func (c *clusterShardsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
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

// share is what a node has of all shards.
type share struct {
	Owner   string    `json:"owner,omitempty"`
	Shards  int       `json:"shards"`
	Running int       `json:"running"`
	NextDue time.Time `json:"next_due,omitzero"`
	Until   time.Time `json:"until,omitzero"` // when the first lease ends
}

// sharesOf sums shards by owner, in the order of the names; nobody's come first.
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

// earlier returns the earlier of two times; a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// eachRow prints a list that is there as a whole.
func eachRow[T any](con *console, heading []string, list []*T, row func(*T) []string) error {
	return listing(con, heading, func(yield func(*T, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}, row)
}

type clusterDrainCmd struct {
	Node  string `arg:"" help:"The server's name, as foliot cluster nodes shows it."`
	Undo  bool   `help:"Let it have its part again."`
	Force bool   `help:"Also the last server that delivers: nothing is delivered then, until --undo, or until another server starts."`
}

// Help shows examples below the usage line.
func (clusterDrainCmd) Help() string {
	return `A drained server gives its shards to the others at once, and takes none: no attempt starts there any more. It finishes those that it has begun, and
goes on serving the API. That lasts until --undo, or until the server ends: after a restart it takes part again. When the others end meanwhile,
it takes their shards all the same, so that tasks are delivered.

The last server that is neither drained nor silent is drained with --force alone. Its shards go to those that were drained without it; where there
are none, nothing is delivered any more: tasks are taken and kept, and those that become due are late, until --undo, or until a server starts.
foliot doctor says so.

A restart needs no drain: a server that is stopped in an orderly way gives its shards away by itself. It takes an operator's token of
scope admin.

Examples:

    foliot cluster drain node-2
    foliot cluster drain node-2 --undo`
}

// Run drains, or ends that.
func (c *clusterDrainCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	var n *client.Node
	var err error
	switch {
	case c.Undo && c.Force:
		return usage.Errorf("--undo, --force", "give one of them, not both")
	case c.Undo:
		n, err = api.Admin.Undrain(ctx, c.Node)
	case c.Force:
		n, err = api.Admin.ForceDrain(ctx, c.Node)
	default:
		n, err = api.Admin.Drain(ctx, c.Node)
	}
	switch {
	case errors.Is(err, client.ErrNotFound):
		return &fault{exitNotFound, err}
	case err != nil:
		return err
	case con.json:
		return con.object(n)
	case c.Undo:
		con.sayf("%s takes part again, with %d shards", n.Name, n.Wanted)
	case n.Owned > 0 && !c.Force:
		con.sayf("%s is drained: its %d shards go to the others", n.Name, n.Owned)
	case c.Force && nobodyDelivers(ctx, api):
		con.sayf("%s is drained, and no other server takes its shards: nothing is delivered until `foliot cluster drain %s --undo`, or until another server starts", n.Name, n.Name)
	default:
		con.sayf("%s is drained", n.Name)
	}
	return nil
}

// nobodyDelivers reports whether it is known that no server is to own shards.
func nobodyDelivers(ctx context.Context, api *client.Client) bool {
	c, err := api.Admin.Cluster(ctx)
	return err == nil && !doctor.Delivered(c.Nodes)
}
