package node

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/webhook"
	"github.com/foliot/foliot/internal/wire"
)

// LookupTimeout is how long a name may take to resolve.
const LookupTimeout = 10 * time.Second

// egress explains the verdict of this server's guard on a URL to an operator.
func (n *Node) egress(ctx context.Context, url string) wire.Egress {
	ctx, cancel := context.WithTimeout(ctx, LookupTimeout)
	defer cancel()
	return ShowEgress(url, n.sender.Explain(ctx, url))
}

// ShowEgress returns e as the API shows it.
func ShowEgress(url string, e webhook.Explanation) wire.Egress {
	shown := wire.Egress{URL: url, Scheme: e.Scheme, Host: e.Host, Port: e.Port, Open: e.Open(), Problem: e.Problem, Addresses: []wire.EgressAddress{}}
	for _, j := range e.Addresses {
		opener := j.Opener
		if j.Denied != nil {
			opener = j.Denied.Opener
		}
		a := wire.EgressAddress{Address: j.Addr.Addr().String(), Open: j.Open(), Reason: j.Reason()}
		if opener.IsValid() {
			a.Opener = opener.String()
		}
		shown.Addresses = append(shown.Addresses, a)
	}
	return shown
}
