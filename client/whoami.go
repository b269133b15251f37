package client

import (
	"context"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// Identity describes the caller of a request, and the server that replies.
type Identity struct {
	Namespace  string // the namespace of the client's requests
	Scope      Scope  // ScopeAdmin if the server has no tokens
	Operator   bool   // the caller may name every namespace, and manages the server
	Token      *Token // without its secret; nil: the server has no tokens
	Secured    bool   // every request needs a token
	Node       string // name of the server in a shared store
	Version    string // version of the server
	Store      string // "embedded" or "shared"
	Durability string // see Cluster
	Now        time.Time
}

// Whoami returns the rights of the client's token. It also describes the server
// and its clock.
func (c *Client) Whoami(ctx context.Context) (*Identity, error) {
	v := new(Identity)
	_, err := c.conn.do(ctx, &call{op: "get the caller", method: http.MethodGet, path: "/whoami", repeatable: true, into: v})
	return orNil(v, err)
}

// MarshalJSON returns the identity as the API writes it.
func (i Identity) MarshalJSON() ([]byte, error) {
	w := wire.Identity{
		Namespace: i.Namespace, Scope: string(i.Scope), Operator: i.Operator, Secured: i.Secured,
		Node: i.Node, Version: i.Version, Store: i.Store, Durability: i.Durability, Now: instant(i.Now),
	}
	if i.Token != nil {
		w.Token = new(i.Token.wire())
	}
	return marshal(w)
}

// UnmarshalJSON reads an identity as the API writes it.
func (i *Identity) UnmarshalJSON(data []byte) error {
	return read(data, i, func(d *decoder, w wire.Identity) Identity {
		v := Identity{
			Namespace: w.Namespace, Scope: Scope(w.Scope), Operator: w.Operator, Secured: w.Secured,
			Node: w.Node, Version: w.Version, Store: w.Store, Durability: w.Durability, Now: d.instant(w.Now),
		}
		if w.Token != nil {
			v.Token = new(d.token(*w.Token))
		}
		return v
	})
}
