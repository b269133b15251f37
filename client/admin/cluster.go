package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// Cluster lists the servers, and describes their store.
type Cluster struct {
	Store      string // "embedded": one server owns the store; "shared": the nodes share it
	Shards     int    // number of shards of a shared store
	Nodes      []Node
	Durability string // "memory": a crash loses the tasks; "synced": tasks survive a power loss; "async", "default" and "strict": the levels of a shared store
	Secured    bool   // requests need a token
}

// Node is one server.
type Node struct {
	Name      string // node name, in a shared store
	Self      bool   // this node answered the request
	Address   string // the address at which it says it serves the API; may be empty
	Version   string
	StartedAt time.Time
	Uptime    time.Duration
	Ready     bool // this node takes requests; another node has sent a heartbeat recently

	LastSeenAt    time.Time // last heartbeat, in a shared store
	Draining      bool      // it must give up its shards
	Owned, Wanted int       // shards that it owns, and that it should own, in a shared store
	NameTaken     bool      // another process uses the same name and had it first: this node owns no shards until that ends
}

// Shard is a part of the tasks of a shared store, which one node at a time
// delivers.
type Shard struct {
	Shard   int
	Owner   string    // empty: no node owns it now
	Until   time.Time // end of the owner's lease, unless it is renewed
	Epoch   uint64    // number of times that a node took the shard
	NextDue time.Time // its earliest scheduled task is not due before this; zero: it has none
	Running int       // tasks with an attempt that is, or may be, under way
}

// Cluster returns the servers, and needs an operator's token.
func (a *Client) Cluster(ctx context.Context) (*Cluster, error) {
	return conn.Get[Cluster](ctx, a.conn, "get the cluster", "/cluster", nil)
}

// Shards returns all shards of a shared store, and needs an operator's token.
func (a *Client) Shards(ctx context.Context) ([]*Shard, error) {
	var list struct {
		Shards []*Shard `json:"shards"`
	}
	_, err := a.conn.Do(ctx, &conn.Call{Op: "list shards", Method: http.MethodGet, Path: "/cluster/shards", Repeatable: true, Into: &list})
	return list.Shards, err
}

// Drain makes a node of a shared store give its shards to other nodes; it then
// owns none until Undrain, or until it ends. With client.Force this happens even
// if no other node could take the shards: their tasks are not delivered then.
// Drain needs an operator's token of scope admin. Errors: client.ErrNotFound,
// client.ErrLastNode. Options: client.Force.
func (a *Client) Drain(ctx context.Context, node string, opts ...client.CallOption) (*Node, error) {
	return a.drain(ctx, "drain node", node, &conn.Call{Method: http.MethodPost, Takes: "Force", Options: conn.Given(opts)})
}

// Undrain ends a Drain. Errors: client.ErrNotFound.
func (a *Client) Undrain(ctx context.Context, node string) (*Node, error) {
	return a.drain(ctx, "undrain node", node, &conn.Call{Method: http.MethodDelete})
}

// Finding is the result of one check.
type Finding struct {
	Check string // name of the check: "fit", "memory"
	OK    bool
	Says  string // for people: the result, and the remedy if OK is false

	Warning bool // OK is false, but the server works
}

// ExamineStore makes a server check its store and its TLS files. On a shared
// store it checks its servers, as `foliot doctor redis` and `foliot doctor postgres` do, and on a
// directory the free space. It needs an operator's token. If the server has
// nothing to check, as with a store in memory and without TLS, the error has the
// Code unsupported.
func (a *Client) ExamineStore(ctx context.Context) ([]Finding, error) {
	var x wire.Examination
	_, err := a.conn.Do(ctx, &conn.Call{Op: "examine the store", Method: http.MethodGet, Path: "/cluster/store", Repeatable: true, Into: &x})
	all := make([]Finding, len(x.Findings))
	for i, f := range x.Findings {
		all[i] = Finding(f)
	}
	return all, err
}

func (a *Client) drain(ctx context.Context, verb, node string, c *conn.Call) (*Node, error) {
	c.Path, c.Repeatable = "/drain", true
	n, _, err := conn.Named[Node](ctx, a.conn, verb, "/cluster/nodes/", node, c)
	return n, err
}

func (c Cluster) MarshalJSON() ([]byte, error) {
	var w wire.Cluster
	if err := codec.Convert(&w, c); err != nil {
		return nil, err
	}
	for i := range w.Nodes {
		withoutShards(&w.Nodes[i])
	}
	return convert.Marshal(w)
}

func (c *Cluster) UnmarshalJSON(data []byte) error { return decode[wire.Cluster](data, c) }

func (n Node) MarshalJSON() ([]byte, error) {
	var w wire.Node
	if err := codec.Convert(&w, n); err != nil {
		return nil, err
	}
	withoutShards(&w)
	return convert.Marshal(w)
}

func (n *Node) UnmarshalJSON(data []byte) error { return decode[wire.Node](data, n) }

// withoutShards omits the numbers of shards of a node that owns its store.
func withoutShards(n *wire.Node) {
	if n.Name == "" {
		n.Owned, n.Wanted = nil, nil
	}
}

func (s Shard) MarshalJSON() ([]byte, error) { return encode[wire.Shard](s) }

func (s *Shard) UnmarshalJSON(data []byte) error { return decode[wire.Shard](data, s) }
