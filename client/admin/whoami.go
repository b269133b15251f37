package admin

import (
	"context"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
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
	Durability string // see Cluster.Durability
	Now        time.Time
}

// Whoami returns the rights of the client's token, and describes the server and
// its clock.
func (a *Client) Whoami(ctx context.Context) (*Identity, error) {
	return conn.Get[Identity](ctx, a.conn, "get the caller", "/whoami", nil)
}

func (i Identity) MarshalJSON() ([]byte, error) { return encode[wire.Identity](i) }

func (i *Identity) UnmarshalJSON(data []byte) error { return decode[wire.Identity](data, i) }
