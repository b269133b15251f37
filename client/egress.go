package client

import (
	"context"
	"net/http"
	"net/url"
)

// Egress is whether tasks may call a URL, as one server sees it.
type Egress struct {
	URL, Scheme, Host string
	Port              uint16
	Open              bool            // one open address is enough
	Problem           string          // why there is no address; empty: there are some
	Addresses         []EgressAddress // the addresses of the host, as the server resolves it
}

// EgressAddress is the verdict on one address.
type EgressAddress struct {
	Address string
	Open    bool
	Reason  string // why, in words
	Opener  string // the entry of --egress-allow that opens it, or that would open it; may be empty
}

// Egress returns whether tasks may call a URL, by the egress policy of the server that answers. The server resolves the host, and
// connects to nothing. It takes an operator's token.
func (a Admin) Egress(ctx context.Context, rawURL string) (*Egress, error) {
	v := new(Egress)
	_, err := a.conn.do(ctx, &call{op: "ask for the egress policy", method: http.MethodGet, path: "/egress", query: url.Values{"url": {rawURL}}, repeatable: true, into: v})
	return orNil(v, err)
}
