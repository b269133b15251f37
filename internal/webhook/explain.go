package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// Explanation is the guard's report about a URL: the result that an attempt
// would get, without a connection.
type Explanation struct {
	Scheme, Host string
	Port         uint16

	// Addresses are the addresses of the host, in the resolver's order.
	Addresses []Judgement

	// Problem explains why there are no addresses: the URL is invalid for a
	// task, or its host does not resolve. Otherwise it is "".
	Problem string
}

// Open reports whether a request can be sent. One open address is enough,
// because an attempt does not try further addresses.
func (e Explanation) Open() bool {
	for _, j := range e.Addresses {
		if j.Open() {
			return true
		}
	}
	return false
}

// Judgement is the guard's verdict on one address.
type Judgement struct {
	Addr   netip.AddrPort
	Is     string        // the kind of the address: "a private address"
	Opener netip.Prefix  // the prefix that opens an open address, if it is not open by default
	Denied *egressDenied // nil means that the address is open
}

// Open reports whether requests may be sent to the address.
func (j Judgement) Open() bool { return j.Denied == nil }

// Reason explains why the address is open or denied, and how to change that.
func (j Judgement) Reason() string {
	switch {
	case j.Open() && j.Opener.IsValid():
		return fmt.Sprintf("%s, in %s, which the configuration opens", j.Is, j.Opener)
	case j.Open():
		return j.Is
	case j.Denied.Addr != j.Addr:
		return fmt.Sprintf("%s that leads to %s, %s%s", j.Is, j.Denied.Addr.Addr(), j.Denied.Is, j.Denied.remedy())
	}
	return j.Is + j.Denied.remedy()
}

// Explain is Guard.Explain with the resolver of attempts.
func (s *Sender) Explain(ctx context.Context, rawURL string) Explanation {
	return s.dialer.guard.Explain(ctx, rawURL, net.DefaultResolver.LookupNetIP)
}

// Explain checks each address of a URL's host now. lookup resolves a name, like
// net.Resolver's LookupNetIP with the network "ip".
func (g *Guard) Explain(ctx context.Context, rawURL string, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) Explanation {
	e, err := parts(rawURL)
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	addrs, err := resolve(ctx, e.Host, lookup)
	if err != nil {
		e.Problem = unresolved(err, e.Host)
		return e
	}
	for _, a := range addrs {
		e.Addresses = append(e.Addresses, g.judge(netip.AddrPortFrom(plain(a), e.Port)))
	}
	return e
}

func (g *Guard) judge(addr netip.AddrPort) Judgement {
	j := Judgement{Addr: addr, Is: g.kind(addr.Addr())}
	if errors.As(g.Verdict(addr), &j.Denied) {
		if j.Denied.Addr == addr {
			j.Is = j.Denied.Is
		}
		return j
	}
	if g.isLocal(addr.Addr()) || public.SafeAddr(addr.Addr()) != nil {
		j.Opener, _ = containing(g.open, addr.Addr())
	}
	return j
}

// parts splits a URL as the delivery of a task does.
func parts(rawURL string) (e Explanation, err error) {
	spec := task.DefaultSpec()
	spec.Name, spec.ID, spec.Request.URL = "explained", "explained", rawURL
	spec.When = task.When{Relative: true}
	var field *task.FieldError
	if err := spec.Validate(0); errors.As(err, &field) {
		return e, errors.New(field.Detail)
	} else if err != nil {
		return e, err
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return e, err
	}
	e.Scheme = u.Scheme
	host, port, err := net.SplitHostPort(strings.ToLower(task.Address(u)))
	if err != nil {
		return e, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	e.Host, e.Port = host, uint16(n)
	return e, err
}

func resolve(ctx context.Context, host string, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return lookup(ctx, "ip", host)
}
