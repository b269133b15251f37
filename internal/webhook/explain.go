package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// lookupTimeout is the time limit of Sender.Explain for resolving a host name.
const lookupTimeout = 10 * time.Second

// Explain is Guard.Explain with the resolver of attempts.
func (s *Sender) Explain(ctx context.Context, rawURL string) wire.Egress {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return s.dialer.guard.Explain(ctx, rawURL, net.DefaultResolver.LookupNetIP)
}

// Explain returns the guard's report about a URL: the result that an attempt would
// get now, without a connection. One open address of the host is enough, because
// an attempt does not try further addresses. lookup resolves a name, like
// net.Resolver's LookupNetIP with the network "ip".
func (g *Guard) Explain(ctx context.Context, rawURL string, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) wire.Egress {
	e := wire.Egress{URL: rawURL, Addresses: []wire.EgressAddress{}}
	u, err := task.ParseURL("url", rawURL)
	if field := (*task.FieldError)(nil); errors.As(err, &field) {
		e.Problem = field.Detail
		return e
	}
	host, port, _ := net.SplitHostPort(strings.ToLower(task.Address(u))) // both are valid, as the URL is
	n, _ := strconv.ParseUint(port, 10, 16)
	e.Scheme, e.Host, e.Port = u.Scheme, host, uint16(n)
	addrs := []netip.Addr{{}}
	if addrs[0], err = netip.ParseAddr(host); err != nil {
		addrs, err = lookup(ctx, "ip", host)
	}
	if err != nil {
		e.Problem = unresolved(err, host)
		return e
	}
	for _, a := range addrs {
		shown := g.judge(netip.AddrPortFrom(plain(a), e.Port))
		e.Addresses, e.Open = append(e.Addresses, shown), e.Open || shown.Open
	}
	return e
}

// judge explains why the plain address addr is open or denied, and how to change
// that.
func (g *Guard) judge(addr netip.AddrPort) wire.EgressAddress {
	a := addr.Addr()
	shown := wire.EgressAddress{Address: a.String(), Open: true, Reason: g.kind(a)}
	if denied, ok := errors.AsType[*egressDenied](g.Verdict(addr)); ok {
		shown.Open = false
		if reason := denied.Is + denied.remedy(); denied.Addr == addr {
			shown.Reason = reason
		} else {
			shown.Reason += fmt.Sprintf(" that leads to %s, %s", denied.Addr.Addr(), reason)
		}
		if denied.Opener.IsValid() {
			shown.Opener = denied.Opener.String()
		}
	} else if opener, opened := containing(g.open, a); opened && (g.isLocal(a) || public.SafeAddr(a) != nil) {
		shown.Reason += fmt.Sprintf(", in %s, which the configuration opens", opener)
		shown.Opener = opener.String()
	}
	return shown
}
