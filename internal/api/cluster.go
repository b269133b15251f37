package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/wire"
)

// A server with a store of its own is a cluster of one node, which lists itself
// and has no shards.

const (
	clusterPath = wire.Version + "/cluster"
	nodePath    = clusterPath + "/nodes/{node}"
)

func clusterRoutes() []route {
	return []route{
		{
			method: "GET", path: clusterPath, serve: (*Server).cluster, scope: settings.ScopeRead, operator: true, tag: "server",
			id: "cluster", summary: "List the servers",
			about:   "A server with a store of its own lists only itself.",
			replies: []reply{{status: 200, about: "The nodes, and the durability of the store.", body: wire.Cluster{}}},
		},
		{
			method: "GET", path: clusterPath + "/shards", serve: (*Server).listShards, scope: settings.ScopeRead, operator: true, extra: true, tag: "server",
			weight: admission.Large, id: "listShards", summary: "List the shards of a shared store",
			about:   "All shards in the order of their numbers, with their owner and content.",
			replies: []reply{{status: 200, about: "The shards.", body: wire.ShardList{}}},
		},
		{
			method: "GET", path: clusterPath + "/store", serve: (*Server).examineStore, scope: settings.ScopeRead, operator: true, extra: true, diagnostic: true, tag: "server",
			id: "examineStore", summary: "Examine the store of a server",
			about: "On a directory: the free space. On a Redis: the findings of foliot doctor redis, for the settings of the server that replies: fitness, memory, replicas, clocks, format and identity. " +
				"On both: TLS files that cannot be used. It changes nothing, and also works while the store is closed (store_replaced).",
			replies: []reply{{status: 200, about: "The findings.", body: wire.Examination{}}},
		},
		{
			method: "POST", path: nodePath + "/drain", serve: (*Server).drainNode, scope: settings.ScopeAdmin, operator: true, extra: true, tag: "server",
			id: "drainNode", summary: "Move the shards of a node to the others",
			about: "Takes effect within a heartbeat, usually at once. A drain lasts until it is undone or the node's process ends. The node finishes its attempts and still serves this API. " +
				"If all other nodes end, it takes their shards nevertheless. 409 last_node if no other live node could take its shards.",
			query:   []param{forceNodeParam},
			replies: []reply{{status: 200, about: "Durable. owned falls to 0 while the others take over.", body: wire.Node{}}},
		},
		{
			method: "DELETE", path: nodePath + "/drain", serve: (*Server).undrainNode, scope: settings.ScopeAdmin, operator: true, extra: true, tag: "server",
			id: "undrainNode", summary: "Let a node own shards again",
			replies: []reply{{status: 200, about: "Durable. owned rises while the others give shards to it.", body: wire.Node{}}},
		},
	}
}

func (s *Server) cluster(w http.ResponseWriter, r *request) error {
	c := wire.Cluster{Store: "embedded", Durability: s.store.Standing().Durability, Secured: s.cfg.Authorize != nil || r.settings.Secured()}
	if s.nodes == nil {
		c.Nodes = []wire.Node{{
			Self: true, Version: s.cfg.Version, StartedAt: wire.FormatTime(s.started), Uptime: uptime(time.Since(s.started)), Ready: s.ready() == nil,
		}}
	} else {
		nodes, err := s.nodes.Nodes(r.Context())
		if err != nil {
			return err
		}
		c.Store, c.Shards, c.Nodes = "shared", s.store.Standing().Shards, make([]wire.Node, len(nodes))
		for i, n := range nodes {
			c.Nodes[i] = s.showNode(&n)
		}
	}
	return s.reply(w, r, http.StatusOK, c)
}

func uptime(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }

func (s *Server) showNode(n *store.Node) wire.Node {
	return wire.Node{
		Name: n.Name, Self: n.Self, Address: n.Address, Version: cmp.Or(n.Version, "unknown"), StartedAt: showTime(n.StartedAt),
		Uptime: uptime(n.BeatAt.Sub(n.StartedAt)), Ready: n.Live && !n.NameTaken && (!n.Self || s.ready() == nil),
		LastSeenAt: showTime(n.BeatAt), Draining: n.Draining, Owned: &n.Owned, Wanted: &n.Wanted, NameTaken: n.NameTaken,
	}
}

func (s *Server) listShards(w http.ResponseWriter, r *request) error {
	if s.nodes == nil {
		return noCluster()
	}
	shards, err := s.nodes.Shards(r.Context())
	if err != nil {
		return err
	}
	reply := wire.ShardList{Shards: make([]wire.Shard, len(shards))}
	for i, sh := range shards {
		reply.Shards[i] = wire.Shard{
			Shard: sh.Number, Owner: sh.Owner, Until: showOptional(sh.Until), Epoch: sh.Epoch, NextDue: showOptional(sh.NextDue), Running: sh.Running,
		}
	}
	return s.reply(w, r, http.StatusOK, reply)
}

func (s *Server) examineStore(w http.ResponseWriter, r *request) error {
	engine := s.cfg.Engine
	if engine == nil || engine.Examine() == nil {
		return unsupported("the store of this server is in memory: there is nothing to examine")
	}
	x := wire.Examination{Findings: []wire.Finding{}}
	x.Findings = append(x.Findings, engine.Examine()(r.Context())...)
	return s.reply(w, r, http.StatusOK, x)
}

func noCluster() error {
	return unsupported("the store of this server is embedded: it has no shards and no other nodes")
}

func (s *Server) drainNode(w http.ResponseWriter, r *request) error {
	force, err := boolean(r.query, "force")
	if err != nil {
		return err
	}
	return s.drain(w, r, store.Drain{Force: force})
}

func (s *Server) undrainNode(w http.ResponseWriter, r *request) error {
	return s.drain(w, r, store.Drain{Undo: true})
}

// drain applies d to the node in the path of r, and replies with that node.
func (s *Server) drain(w http.ResponseWriter, r *request, d store.Drain) error {
	if err := noBody(r); err != nil {
		return err
	}
	if s.nodes == nil {
		return noCluster()
	}
	d.Node = r.PathValue("node")
	d.Node = d.Node[:min(len(d.Node), 256)] // errors repeat it
	if err := s.nodes.Drain(r.Context(), s.now(), d); err != nil {
		return err
	}
	nodes, err := s.nodes.Nodes(r.Context())
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Name == d.Node {
			return s.reply(w, r, http.StatusOK, s.showNode(&n))
		}
	}
	return &settings.MissingError{What: "node", Name: d.Node} // the node has ended since the lookup
}
