package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Namespaces are a server's tenants. They take an operator's token.
type Namespaces struct{ conn *conn }

// NamespaceSettings are the quotas of a namespace. A zero field sets no limit. To stop a namespace, set Suspended.
type NamespaceSettings struct {
	MaxPending  int64   // tasks that may be scheduled or running; each schedule counts as one
	MaxBytes    int64   // bytes that the records which are kept may have, with their bodies
	CreateRate  float64 // tasks that may be created in a second, at each server
	CreateBurst int     // and at once after a silence. Default: as many as a second brings, at least one
	ChangeRate  float64 // changes of existing tasks and schedules in a second, at each server. Default: as many as creates
	ReadRate    float64 // reads in a second, at each server; 0: the server's default, 1000
	EditRate    float64 // edits of queues, tokens and secrets by the namespace's own tokens. Default: 2 a second, and 50 at once
	Suspended   bool    // nothing is created, delivered or fired, and the namespace's own tokens only read
}

// Namespace is a tenant as the server shows it.
type Namespace struct {
	NamespaceSettings

	Name      string
	Version   uint64    // counts what was decided of it; 0: nothing yet
	CreatedAt time.Time // zero: nothing was decided of it
	Counts    Counts
	Schedules int64 // each counts as a pending task where MaxPending is concerned

	etag string
}

// ETag returns the entity tag that IfMatch takes. It is empty for a namespace of a list, and for one of which nothing was decided.
func (n *Namespace) ETag() string { return n.etag }

// Put makes a namespace, or sets all of its quotas. Tasks that are there already stay. Errors: ErrPrecondition, ErrForbidden.
func (ns Namespaces) Put(ctx context.Context, name string, s NamespaceSettings, conds ...Condition) (*Namespace, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return ns.one(ctx, "put namespace", name, &call{method: http.MethodPut, body: body, header: headerOf(conds), repeatable: len(conds) == 0})
}

// Get returns a namespace. Errors: an Error of code unknown_namespace, ErrForbidden.
func (ns Namespaces) Get(ctx context.Context, name string) (*Namespace, error) {
	return ns.one(ctx, "get namespace", name, &call{method: http.MethodGet, repeatable: true})
}

// List returns the namespaces, in the order of their names. An error is the last thing it yields.
func (ns Namespaces) List(ctx context.Context) iter.Seq2[*Namespace, error] {
	return pages[Namespace, namespacePage](ctx, ns.conn, "list namespaces", "/namespaces", url.Values{})
}

type namespacePage struct {
	Namespaces []*Namespace `json:"namespaces"`
	cursorField
}

func (p *namespacePage) items() []*Namespace { return p.Namespaces }

// Delete removes a namespace with its queues and secrets, and returns what it was. Errors: ErrConflict while tasks are left, or tokens that hold.
func (ns Namespaces) Delete(ctx context.Context, name string) (*Namespace, error) {
	return ns.one(ctx, "delete namespace", name, &call{method: http.MethodDelete})
}

func (ns Namespaces) one(ctx context.Context, verb, name string, c *call) (*Namespace, error) {
	n := new(Namespace)
	header, err := ns.conn.named(ctx, verb, "/namespaces/", name, c, n)
	if err != nil {
		return nil, err
	}
	n.etag = header.Get("ETag")
	return n, nil
}
