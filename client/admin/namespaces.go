package admin

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// Namespaces manages the namespaces of a server; its methods need an operator's
// token.
type Namespaces struct{ conn conn.Conn }

// NamespaceSettings are the quotas of a namespace. A zero field sets no limit,
// so set Suspended to stop a namespace.
type NamespaceSettings struct {
	MaxPending   int64   // highest number of scheduled and running tasks; each schedule counts as one
	MaxBytes     int64   // highest number of bytes of the stored records, with their bodies
	CreateRate   float64 // tasks created per second, on each server
	CreateBurst  int     // tasks created at once after a pause. Default: CreateRate, at least one
	ChangeRate   float64 // changes of existing tasks and schedules per second, on each server. Default: CreateRate
	ReadRate     float64 // reads per second, on each server; 0: the server's default, 1000
	EditRate     float64 // edits of queues, tokens and secrets per second, by the namespace's own tokens. Default: 2, and 50 at once
	Suspended    bool    // no task is created, delivered or fired, and the namespace's own tokens can only read
	HidePayloads bool    // tokens of scope read see no bodies and no headers of requests, and no replies
	Kinds        bool    // tasks with a kind are allowed: a program with handlers runs the tasks of the namespace
	ManagedBy    string  // the owner for foliot apply --prune. A Put without it keeps the present owner
}

// Namespace is a namespace as the server returns it.
type Namespace struct {
	NamespaceSettings

	Name      string
	Version   uint64    // counts changes of the settings; 0: never set
	CreatedAt time.Time // zero: the settings were never set
	Counts    client.Counts
	Schedules int64 // each counts against MaxPending
	// Unconfirmed has the nodes that had not applied a change two seconds after
	// it: see client.Queue.
	Unconfirmed []string

	etag string
}

// ETag returns the entity tag for client.IfMatch, empty for a namespace of a list,
// and for one without settings.
func (n *Namespace) ETag() string { return n.etag }

// Put creates a namespace, or replaces all of its settings, while existing
// tasks stay. Errors: client.ErrPrecondition, client.ErrForbidden. Options:
// client.IfMatch, client.IfNoneMatch.
func (ns Namespaces) Put(ctx context.Context, name string, s NamespaceSettings, opts ...client.CallOption) (*Namespace, error) {
	return ns.one(ctx, "put namespace", name, &conn.Call{Method: http.MethodPut, Send: s, Options: conn.Given(opts), Takes: "IfMatch IfNoneMatch", Repeatable: !conn.Conditional(conn.Given(opts))})
}

// Get returns a namespace. Errors: client.ErrNotFound, client.ErrForbidden.
func (ns Namespaces) Get(ctx context.Context, name string) (*Namespace, error) {
	return ns.one(ctx, "get namespace", name, &conn.Call{Method: http.MethodGet, Repeatable: true})
}

// List returns the namespaces by name. An error is the last item.
func (ns Namespaces) List(ctx context.Context) iter.Seq2[*Namespace, error] {
	return conn.Pages[Namespace](ctx, ns.conn, "list namespaces", "/namespaces", "namespaces", conn.Params{})
}

// Delete deletes a namespace with its queues and secrets, and returns its last
// state. Errors: client.ErrNotFound, client.ErrForbidden, client.ErrPrecondition,
// and client.ErrConflict if it is the default namespace, or still has tasks or
// active tokens. Options: client.IfMatch.
func (ns Namespaces) Delete(ctx context.Context, name string, opts ...client.CallOption) (*Namespace, error) {
	return ns.one(ctx, "delete namespace", name, &conn.Call{Method: http.MethodDelete, Takes: "IfMatch", Options: conn.Given(opts)})
}

func (ns Namespaces) one(ctx context.Context, verb, name string, c *conn.Call) (*Namespace, error) {
	n, got, err := conn.Named[Namespace](ctx, ns.conn, verb, "/namespaces/", name, c)
	if err == nil {
		n.etag = got.Header.Get("ETag")
	}
	return n, err
}

func (s NamespaceSettings) MarshalJSON() ([]byte, error) { return encode[wire.NamespaceInput](s) }

func (s *NamespaceSettings) UnmarshalJSON(data []byte) error {
	return decode[wire.NamespaceInput](data, s)
}

func (n Namespace) MarshalJSON() ([]byte, error) { return encode[wire.Namespace](n) }

func (n *Namespace) UnmarshalJSON(data []byte) error { return decode[wire.Namespace](data, n) }
