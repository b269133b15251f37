package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// What the API says of a cluster. A server whose store is its own is a cluster
// of one: it shows itself, and has neither shards nor anybody to give them to.

const (
	clusterPath = wire.Version + "/cluster"
	nodePath    = clusterPath + "/nodes/{node}"
)

func clusterRoutes() []route {
	return []route{
		{
			method: "GET", path: clusterPath, serve: (*Server).cluster, scope: task.ScopeRead, operator: true, tag: "server",
			id: "cluster", summary: "Which servers there are",
			about:   "A server whose store is its own shows itself alone.",
			replies: []reply{{status: 200, about: "The nodes, and how they keep tasks.", body: wire.Cluster{}}},
		},
		{
			method: "GET", path: clusterPath + "/shards", serve: (*Server).listShards, scope: task.ScopeRead, operator: true, extra: true, tag: "server",
			id: "listShards", summary: "List the shards of a shared store",
			about:   "All of them, in the order of their numbers: who owns each, and what is in it.",
			replies: []reply{{status: 200, about: "The shards.", body: wire.ShardList{}}},
		},
		{
			method: "GET", path: clusterPath + "/store", serve: (*Server).examineStore, scope: task.ScopeRead, operator: true, extra: true, watches: true, tag: "server",
			id: "examineStore", summary: "Examine the servers of a shared store",
			about: "The findings of foliot doctor redis, by the settings of the server that answers: fitness, memory, replicas, clocks, format and identity. " +
				"It changes nothing, and works while the store is closed (store_replaced).",
			replies: []reply{{status: 200, about: "The findings.", body: wire.Examination{}}},
		},
		{
			method: "POST", path: nodePath + "/drain", serve: (*Server).drainNode, scope: task.ScopeAdmin, operator: true, extra: true, tag: "server",
			id: "drainNode", summary: "Make a node give its shards to the others",
			about: "Within a heartbeat, mostly at once, and for as long as its process lives, or until that is undone: a restart ends it. It finishes what it has begun, and goes on serving this API. " +
				"Where the others end meanwhile it takes their shards all the same. 409 last_node where no other node lives that is not drained.",
			query:   []param{forceNodeParam},
			replies: []reply{{status: 200, about: "It is durable. owned falls to 0 as the others take over.", body: wire.Node{}}},
		},
		{
			method: "DELETE", path: nodePath + "/drain", serve: (*Server).undrainNode, scope: task.ScopeAdmin, operator: true, extra: true, tag: "server",
			id: "undrainNode", summary: "Let a node own shards again",
			replies: []reply{{status: 200, about: "It is durable. owned rises as the others give it its part.", body: wire.Node{}}},
		},
	}
}

func (s *Server) cluster(w http.ResponseWriter, r *request) error {
	c := wire.Cluster{Store: "embedded", Durability: s.store.Durability(), Secured: r.settings.Secured()}
	if s.nodes == nil {
		c.Nodes = []wire.Node{{
			Self: true, Version: s.cfg.Version, StartedAt: wire.FormatTime(s.started), Uptime: uptime(time.Since(s.started)), Ready: s.ready() == nil,
		}}
	} else {
		nodes, err := s.nodes.Nodes(r.Context())
		if err != nil {
			return err
		}
		c.Store, c.Shards, c.Nodes = "shared", s.nodes.Standing().Shards, make([]wire.Node, len(nodes))
		for i, n := range nodes {
			c.Nodes[i] = s.showNode(&n)
		}
	}
	s.write(r.Context(), w, jsonType, http.StatusOK, c)
	return nil
}

func uptime(d time.Duration) string { return max(d, 0).Truncate(time.Second).String() }

func (s *Server) showNode(n *task.Node) wire.Node {
	return wire.Node{
		Name: n.Name, Self: n.Self, Address: n.Address, Version: cmp.Or(n.Version, "unknown"), StartedAt: showTime(n.StartedAt),
		Uptime: uptime(n.BeatAt.Sub(n.StartedAt)), Ready: n.Live && !n.NameTaken && (!n.Self || s.ready() == nil),
		LastSeenAt: showTime(n.BeatAt), Draining: n.Draining, Owned: &n.Owned, Wanted: &n.Wanted, NameTaken: n.NameTaken,
	}
}

func (s *Server) listShards(w http.ResponseWriter, r *request) error {
	if s.nodes == nil {
		return alone()
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
	s.write(r.Context(), w, jsonType, http.StatusOK, reply)
	return nil
}

func (s *Server) examineStore(w http.ResponseWriter, r *request) error {
	if s.cfg.Examine == nil {
		return unsupported("this server has its store for itself: there are no servers of a store to examine")
	}
	var x wire.Examination
	outside(r.Context(), func() { x.Findings = s.cfg.Examine(r.Context()) }) // the store's servers answer in their time
	s.write(r.Context(), w, jsonType, http.StatusOK, x)
	return nil
}

func alone() error {
	return unsupported("this server has its store for itself: there are no shards, and no other node that could take them")
}

func (s *Server) drainNode(w http.ResponseWriter, r *request) error {
	force, err := boolean(r.query, "force")
	if err != nil {
		return err
	}
	return s.drain(w, r, task.Drain{Force: force})
}

func (s *Server) undrainNode(w http.ResponseWriter, r *request) error {
	return s.drain(w, r, task.Drain{Undo: true})
}

// drain carries out d for the node that r names, and answers with that.
func (s *Server) drain(w http.ResponseWriter, r *request, d task.Drain) error {
	if err := noBody(r); err != nil {
		return err
	}
	if s.nodes == nil {
		return alone()
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
			s.write(r.Context(), w, jsonType, http.StatusOK, s.showNode(&n))
			return nil
		}
	}
	return &task.MissingError{What: "node", Name: d.Node} // it has ended meanwhile
}
