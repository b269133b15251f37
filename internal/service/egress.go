package service

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// lookupTimeout is the time limit of egress for resolving a host name.
const lookupTimeout = 10 * time.Second

// egress explains to an operator whether the guard of this server allows tasks
// to call a URL.
func (s *Service) egress(ctx context.Context, url string) wire.Egress {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	e := s.sender.Explain(ctx, url)
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
