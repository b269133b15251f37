package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

// servers tells how the servers are. An error says that the store is away: what
// is asked of it next would be answered alike, after seconds. shared is
// whether they share a store.
func (f *Report) servers(ctx context.Context, api *client.Client) (shared bool, away error) {
	c, err := api.Admin.Cluster(ctx)
	var shards []*client.Shard
	if err == nil && c.Store == "shared" {
		shards, err = api.Admin.Shards(ctx)
	}
	switch {
	case errors.Is(err, client.ErrUnavailable):
		f.add("server", false, "it answers, and does not reach its store (%s)", f.why(err))
		return false, err
	case errors.Is(err, client.ErrForbidden):
		f.add("server", true, "it answers; about itself it tells operators alone (%s)", f.why(err))
		return false, nil
	case err != nil:
		f.add("server", false, "it answers, and does not say how it is (%s)", f.why(err))
		return false, nil
	}
	f.cluster(c)
	if c.Store == "shared" {
		f.shards(c.Nodes, shards)
	}
	return c.Store == "shared", nil
}

// store reports the findings of the server about its Redis.
func (f *Report) store(ctx context.Context, api *client.Client) {
	all, err := api.Admin.ExamineStore(ctx)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && (refused.Code == "unsupported" || refused.Code == "no_route"):
		return // the store is its own; or it is of an older version, which cannot
	case err != nil:
		f.add("redis", false, "the server does not say how its Redis is (%s): foliot doctor redis URL asks the Redis itself", f.why(err))
	}
	for _, found := range all {
		f.add(found.Check, found.OK, "%s", found.Says)
	}
}

func (f *Report) cluster(c *client.Cluster) {
	for _, n := range c.Nodes {
		f.node(&n)
	}
	f.add("durability", c.Durability != "memory", "%s", durabilityWords(c.Durability))
	if c.Secured {
		f.add("access", true, "requests need a token")
	} else {
		f.add("access", true, "open: there are no tokens, so it must be reached from its own machine alone")
	}
}

func (f *Report) node(n *client.Node) {
	words := fmt.Sprintf("version %s, up for %v, ready: %v", n.Version, n.Uptime.Round(time.Second), n.Ready)
	switch {
	case n.Name == "":
	case n.NameTaken:
		words = fmt.Sprintf("%s at %s: another server has that name, or was killed with it some seconds ago, so this one delivers nothing; where that lasts, start it with a --node of its own", n.Name, orWord(n.Address, "an address that it does not say"))
	case !n.Ready && !n.Self:
		words = fmt.Sprintf("%s was last heard of at %s: it ended without a word, or cannot reach Redis; the others take its shards", n.Name, wording.Instant(n.LastSeenAt))
	default:
		words = fmt.Sprintf("%s: %s; %d shards of the %d it is to own%s", n.Name, words, n.Owned, n.Wanted, drainWords(n))
	}
	f.add("server", n.Ready, "%s", words)
}

func drainWords(n *client.Node) string {
	switch {
	case !n.Draining:
		return ""
	case n.Wanted > 0:
		return ", though it is drained: no other server takes them"
	}
	return ", as it is drained"
}

// shards tells whether somebody delivers from each.
func (f *Report) shards(nodes []client.Node, shards []*client.Shard) {
	nobodys := 0
	for _, s := range shards {
		if s.Owner == "" {
			nobodys++
		}
	}
	if nobodys == 0 {
		f.add("shards", true, "all %d have an owner", len(shards))
		return
	}
	advice := "within some seconds a server takes them; the logs of foliot serve say why none does"
	if !Delivered(nodes) {
		advice = "no server is to have any, as all are drained: foliot cluster drain NODE --undo, or start another one"
	}
	f.add("shards", false, "%d of %d have no owner, and nothing is delivered from them: %s", nobodys, len(shards), advice)
}

func durabilityWords(level string) string {
	switch level {
	case "memory":
		return "memory: everything is lost when the server stops; start it with --data DIR"
	case "synced":
		return "synced: what was answered survives a power loss"
	case "async":
		return "async: what was answered is in the memory of Redis, and in its file within a second"
	case "strict":
		return "strict: what was answered is in the synced file of Redis, and where it has replicas in theirs or their memory"
	case "default":
		return "default: what was answered is in Redis, and survives its crash as far as its persistence says: docs/redis.md"
	}
	return level
}

// Delivered reports whether a server is to own shards.
func Delivered(nodes []client.Node) bool {
	return slices.ContainsFunc(nodes, func(n client.Node) bool { return n.Wanted > 0 })
}
