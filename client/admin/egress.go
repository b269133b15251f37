package admin

import (
	"context"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// Egress reports whether tasks may call a URL, according to one server.
type Egress struct {
	URL, Scheme, Host string
	Port              uint16
	Open              bool            // true if at least one address is open
	Problem           string          // why the host has no address; empty: it has
	Addresses         []EgressAddress // as the server resolves the host
}

// EgressAddress is the decision about one address.
type EgressAddress struct {
	Address string
	Open    bool
	Reason  string // for people
	Opener  string // the entry of --egress-allow that opens the address, or would; may be empty
}

// Egress returns whether tasks may call a URL, according to the egress policy
// of the server that answers, which resolves the host and connects to nothing.
// Egress needs an operator's token.
func (a *Client) Egress(ctx context.Context, rawURL string) (*Egress, error) {
	return conn.Get[Egress](ctx, a.conn, "check the egress policy", "/egress", conn.Params{"url": {rawURL}})
}

func (e Egress) MarshalJSON() ([]byte, error) { return encode[wire.Egress](e) }

func (e *Egress) UnmarshalJSON(data []byte) error { return decode[wire.Egress](data, e) }
