package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// A server with a store of its own is a cluster of one node, which lists itself
// and has no shards.

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

func uptime(d time.Duration) string { return timespan.Text(max(d, 0).Truncate(time.Second)) }

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
	return s.writeItems(w, "shards", len(shards), func(i int) any {
		sh := &shards[i]
		return wire.Shard{
			Shard: sh.Number, Owner: sh.Owner, Until: showOptional(sh.Until), Epoch: sh.Epoch, NextDue: showOptional(sh.NextDue), Running: sh.Running,
		}
	}, "")
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
	return s.drain(w, r, store.Drain{Force: r.query.is(forceNodeParam)})
}

func (s *Server) undrainNode(w http.ResponseWriter, r *request) error {
	return s.drain(w, r, store.Drain{Undo: true})
}

// drain applies d to the node in the path of r, and replies with that node.
func (s *Server) drain(w http.ResponseWriter, r *request, d store.Drain) error {
	if s.nodes == nil {
		return noCluster()
	}
	d.Node = r.PathValue("node")
	d.Node = d.Node[:min(len(d.Node), 256)] // errors repeat it
	ctx, stop := s.store.patient(r.Context())
	defer stop()
	if err := s.nodes.Drain(ctx, s.now(), d); err != nil {
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
