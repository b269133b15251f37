package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Cluster says which servers there are, and how they keep what they are told.
type Cluster struct {
	Store      string // "embedded": the server has its store for itself; "shared": the nodes share one
	Shards     int    // into how many parts a shared store is divided
	Nodes      []Node
	Durability string // what survives: "memory", nothing; "synced", a power loss; "async", "default" and "strict" are the levels of a shared store
	Secured    bool   // requests need a token
}

// Node is one server.
type Node struct {
	Name      string // of a shared store
	Self      bool   // it is the one that was asked
	Address   string // where it serves the API, as it says; may be empty
	Version   string
	StartedAt time.Time
	Uptime    time.Duration
	Ready     bool // of the one that was asked: it takes requests. Of others: they were heard of just now

	LastSeenAt    time.Time // the last heartbeat of a node of a shared store
	Draining      bool      // it is to own no shards
	Owned, Wanted int       // shards of a shared store: that it owns, and is to own
	NameTaken     bool      // another process has its name, and had it before: it owns no shards until that ends
}

// Shard is a part of the tasks of a shared store. One node at a time delivers them.
type Shard struct {
	Shard   int
	Owner   string    // empty: nobody, until somebody takes it over
	Until   time.Time // when the owner's lease ends, unless that is renewed
	Epoch   uint64    // how often the shard changed hands, or was taken again
	NextDue time.Time // its earliest scheduled task is not due before; zero: it has none
	Running int       // tasks of which an attempt is, or may be, under way
}

// Cluster says which servers there are. It takes an operator's token.
func (a Admin) Cluster(ctx context.Context) (*Cluster, error) {
	v := new(Cluster)
	_, err := a.conn.do(ctx, &call{op: "ask for the cluster", method: http.MethodGet, path: "/cluster", repeatable: true, into: v})
	return orNil(v, err)
}

// Shards returns all shards of a shared store. It takes an operator's token.
func (a Admin) Shards(ctx context.Context) ([]*Shard, error) {
	var list struct {
		Shards []*Shard `json:"shards"`
	}
	_, err := a.conn.do(ctx, &call{op: "list shards", method: http.MethodGet, path: "/cluster/shards", repeatable: true, into: &list})
	return list.Shards, err
}

// Drain makes a node of a shared store give its shards to the others, and own none until Undrain or its end. It takes an operator's token of scope admin.
// Errors: ErrNotFound, ErrLastNode.
func (a Admin) Drain(ctx context.Context, node string) (*Node, error) {
	return a.drain(ctx, "drain node", http.MethodPost, node, nil)
}

// ForceDrain is Drain where no other node could take the shards, too: nobody delivers their tasks then.
func (a Admin) ForceDrain(ctx context.Context, node string) (*Node, error) {
	return a.drain(ctx, "drain node", http.MethodPost, node, url.Values{"force": {"true"}})
}

// Undrain ends a Drain. Errors: ErrNotFound.
func (a Admin) Undrain(ctx context.Context, node string) (*Node, error) {
	return a.drain(ctx, "undrain node", http.MethodDelete, node, nil)
}

// Finding is one thing that a server has examined.
type Finding struct {
	Check string // the subject of the examination: "fit", "memory"
	OK    bool
	Says  string // for people: the finding, and the remedy if it is not OK
}

// ExamineStore makes a server of a shared store examine the servers that keep the tasks, as `foliot doctor redis` does. It takes an operator's token.
// The Code of the error is unsupported if the server has its store for itself.
func (a Admin) ExamineStore(ctx context.Context) ([]Finding, error) {
	var x wire.Examination
	_, err := a.conn.do(ctx, &call{op: "examine the store", method: http.MethodGet, path: "/cluster/store", repeatable: true, into: &x})
	all := make([]Finding, len(x.Findings))
	for i, f := range x.Findings {
		all[i] = Finding(f)
	}
	return all, err
}

func (a Admin) drain(ctx context.Context, verb, method, node string, query url.Values) (*Node, error) {
	n := new(Node)
	_, err := a.conn.named(ctx, verb, "/cluster/nodes/", node, &call{method: method, path: "/drain", query: query, repeatable: true}, n)
	return orNil(n, err)
}

// MarshalJSON returns what the API says of the servers.
func (c Cluster) MarshalJSON() ([]byte, error) {
	w := wire.Cluster{Store: c.Store, Shards: c.Shards, Nodes: make([]wire.Node, len(c.Nodes)), Durability: c.Durability, Secured: c.Secured}
	for i, n := range c.Nodes {
		w.Nodes[i] = n.wire()
	}
	return marshal(w)
}

// UnmarshalJSON reads what the API says of the servers.
func (c *Cluster) UnmarshalJSON(data []byte) error {
	return read(data, c, func(d *decoder, w wire.Cluster) Cluster {
		c := Cluster{Store: w.Store, Shards: w.Shards, Durability: w.Durability, Secured: w.Secured}
		for _, n := range w.Nodes {
			c.Nodes = append(c.Nodes, d.node(n))
		}
		return c
	})
}

// MarshalJSON returns the node as the API shows it.
func (n Node) MarshalJSON() ([]byte, error) { return marshal(n.wire()) }

// UnmarshalJSON reads a node as the API shows it.
func (n *Node) UnmarshalJSON(data []byte) error {
	return read(data, n, func(d *decoder, w wire.Node) Node { return d.node(w) })
}

func (n *Node) wire() wire.Node {
	w := wire.Node{
		Name: n.Name, Self: n.Self, Address: n.Address, Version: n.Version, StartedAt: instant(n.StartedAt), Uptime: n.Uptime.String(), Ready: n.Ready,
		LastSeenAt: instant(n.LastSeenAt), Draining: n.Draining, NameTaken: n.NameTaken,
	}
	if n.Name != "" {
		owned, wanted := n.Owned, n.Wanted
		w.Owned, w.Wanted = &owned, &wanted
	}
	return w
}

func (d *decoder) node(w wire.Node) Node {
	n := Node{
		Name: w.Name, Self: w.Self, Address: w.Address, Version: w.Version, StartedAt: d.instant(w.StartedAt), Uptime: d.duration(w.Uptime), Ready: w.Ready,
		LastSeenAt: d.instant(w.LastSeenAt), Draining: w.Draining, NameTaken: w.NameTaken,
	}
	if w.Owned != nil {
		n.Owned = *w.Owned
	}
	if w.Wanted != nil {
		n.Wanted = *w.Wanted
	}
	return n
}

// MarshalJSON returns the shard as the API shows it.
func (s Shard) MarshalJSON() ([]byte, error) {
	return marshal(wire.Shard{Shard: s.Shard, Owner: s.Owner, Until: instant(s.Until), Epoch: s.Epoch, NextDue: instant(s.NextDue), Running: s.Running})
}

// UnmarshalJSON reads a shard as the API shows it.
func (s *Shard) UnmarshalJSON(data []byte) error {
	return read(data, s, func(d *decoder, w wire.Shard) Shard {
		return Shard{Shard: w.Shard, Owner: w.Owner, Until: d.instant(w.Until), Epoch: w.Epoch, NextDue: d.instant(w.NextDue), Running: w.Running}
	})
}
