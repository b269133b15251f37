package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/wording"
)

// servers reports the state of all servers, and returns whether they share a
// store. The error unavailable means that the store is unavailable. Further
// requests to the store would fail in the same way, after seconds.
func (r *Report) servers(ctx context.Context, api *client.Client) (shared bool, unavailable error) {
	c, err := admin.New(api).Cluster(ctx)
	var shards []*admin.Shard
	if err == nil && c.Store == "shared" {
		shards, err = admin.New(api).Shards(ctx)
	}
	switch {
	case errors.Is(err, client.ErrUnavailable):
		r.add("server", false, "the server answers, but its store is unavailable (%s)", r.why(err))
		r.store(ctx, api)
		return false, err
	case errors.Is(err, client.ErrForbidden):
		r.add("server", true, "the server answers; its state is visible only with an operator's token (%s)", r.why(err))
		return false, nil
	case err != nil:
		r.add("server", false, "the server answers, but its state cannot be read (%s)", r.why(err))
		return false, nil
	}
	r.cluster(c)
	if c.Secured {
		r.add("access", true, "requests need a token, unless a program serves the API and decides itself")
	} else {
		r.add("access", true, "open: there are no tokens, so only its own machine must be able to connect")
	}
	if c.Store == "shared" {
		r.shards(c.Nodes, shards)
	}
	r.store(ctx, api)
	return c.Store == "shared", nil
}

// store reports the findings of the server about its directory, Redis or PostgreSQL, and
// about its TLS files.
func (r *Report) store(ctx context.Context, api *client.Client) {
	all, err := admin.New(api).ExamineStore(ctx)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "unsupported":
		return // the server has nothing to examine
	case errors.Is(err, client.ErrForbidden):
		r.add("store", true, "visible only with an operator's token (%s)", r.why(err))
	case err != nil:
		r.add("store", false, "the server cannot examine its store (%s): foliot doctor redis URL and foliot doctor postgres URL examine a store directly", r.why(err))
	}
	for _, found := range all {
		r.add(found.Check, found.OK, "%s", found.Says)
	}
}

func (r *Report) cluster(c *admin.Cluster) {
	for _, n := range c.Nodes {
		r.node(&n)
	}
	r.add("durability", c.Durability != "memory", "%s", durabilityWords(c.Durability))
}

func (r *Report) node(n *admin.Node) {
	words := fmt.Sprintf("version %s, up for %v, ready: %v", n.Version, wording.Span(n.Uptime.Round(time.Second)), n.Ready)
	switch {
	case n.Name == "":
	case n.NameTaken:
		words = fmt.Sprintf("%s at %s: another server uses the same name, or was killed some seconds ago, so this server delivers nothing; if this state lasts, start this server with a different --node", n.Name, cmp.Or(n.Address, "an unknown address"))
	case !n.Ready && !n.Self:
		words = fmt.Sprintf("%s sends no heartbeat, the last one came at %s: it has ended, hangs or cannot reach the store; the others take its shards. Start it again, or it leaves this list after an hour", n.Name, wording.Instant(n.LastSeenAt))
	default:
		words = fmt.Sprintf("%s: %s; owns %d shards, should own %d%s", n.Name, words, n.Owned, n.Wanted, drainWords(n))
	}
	r.add("server", n.Ready, "%s", words)
}

func drainWords(n *admin.Node) string {
	switch {
	case !n.Draining:
		return ""
	case n.Wanted > 0:
		return ", although it is drained, because no other server can take them"
	}
	return ", because it is drained"
}

// shards reports whether each shard has an owner, which delivers its tasks.
func (r *Report) shards(nodes []admin.Node, shards []*admin.Shard) {
	unowned := 0
	for _, s := range shards {
		if s.Owner == "" {
			unowned++
		}
	}
	if unowned == 0 {
		r.add("shards", true, "all %d have an owner", len(shards))
		return
	}
	advice := "a server should take them within seconds; otherwise the logs of foliot serve show the reason"
	if !slices.ContainsFunc(nodes, func(n admin.Node) bool { return n.Wanted > 0 }) {
		advice = "all servers are drained: run foliot cluster drain NODE --undo, or start another server"
	}
	r.add("shards", false, "%d of %d have no owner, so their tasks are not delivered: %s", unowned, len(shards), advice)
}

func durabilityWords(level string) string {
	switch level {
	case "memory":
		return "memory: all data is lost when the server stops; start it with --data DIR to keep it"
	case "synced":
		return "synced: confirmed changes survive a power loss"
	case "async":
		return "async: confirmed changes are in the memory of Redis or PostgreSQL, and on its disk within a second"
	case "strict":
		return "strict: confirmed changes are on the disk of Redis or PostgreSQL, and on its replicas or standbys: see docs/redis.md and docs/postgres.md"
	case "default":
		return "default: confirmed changes are in Redis or PostgreSQL, and docs/redis.md and docs/postgres.md say which faults they survive"
	}
	return level
}
