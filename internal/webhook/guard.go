package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// The flags that open and close addresses, as errors name them.
const (
	Flag     = "--egress-allow"
	DenyFlag = "--egress-deny"
)

// Guard decides which addresses a task's request may reach.
//
// Addresses of the public internet are open. Private and other special ones
// need a prefix in Config.Allow; loopback is open while Config.AllowLoopback
// says so. Config.Deny closes what would be open. Cloud metadata, this server's
// own addresses and addresses that are no destination at all are closed
// whatever the configuration says.
//
// A Guard may be used by many goroutines. It never changes, but for what
// Config.AllowLoopback says.
type Guard struct {
	own      []netip.AddrPort
	deny     []netip.Prefix
	open     []netip.Prefix      // what the configuration opens
	loopback func() bool         // whether loopback is open
	machine  func() []netip.Addr // the addresses of this machine's interfaces, now
	guardian *ssrf.Guardian
}

// NewGuard returns the guard that cfg describes.
func NewGuard(cfg Config) *Guard {
	g := &Guard{machine: interfaceAddrs, open: plainPrefixes(cfg.Allow), deny: plainPrefixes(cfg.Deny)}
	if g.loopback = cfg.AllowLoopback; g.loopback == nil {
		g.loopback = func() bool { return false }
	}
	var v4, v6 []netip.Prefix
	for _, p := range g.open {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	g.guardian = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	for _, own := range cfg.Own {
		g.own = append(g.own, netip.AddrPortFrom(plain(own.Addr()), own.Port()))
	}
	return g
}

// EgressDenied says why the guard refuses an address, and what would open it.
type EgressDenied struct {
	Addr   netip.AddrPort
	Is     string       // what the address is: "a private address"
	Opener netip.Prefix // what Flag must name to open it; not valid: Flag does not open it
	Closer netip.Prefix // what DenyFlag names; not valid: it is not closed by that
}

// Error returns a sentence that names the address and the flag.
func (e *EgressDenied) Error() string {
	return fmt.Sprintf("egress denied: %s is %s%s", e.Addr, e.Is, e.remedy())
}

// remedy says what would open the address: it goes on from what that is.
func (e *EgressDenied) remedy() string {
	switch {
	case e.Closer.IsValid():
		return fmt.Sprintf(", and %s %s closes it", DenyFlag, e.Closer)
	case e.Opener.IsValid():
		return fmt.Sprintf("; %s %s opens it", Flag, e.Opener)
	}
	return fmt.Sprintf(", which %s does not open", Flag)
}

// Verdict returns nil where a request may be sent to addr, and otherwise an
// *EgressDenied. It sends nothing. It costs well under a microsecond, and a
// look at the machine's interfaces where addr has the port of a server of ours
// that listens on all of them.
func (g *Guard) Verdict(addr netip.AddrPort) error {
	a := plain(addr.Addr())
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a == broadcast:
		return &EgressDenied{Addr: addr, Is: "no destination"}
	case g.isOwn(a, addr.Port()):
		return &EgressDenied{Addr: addr, Is: "an address of this server itself or of its store"}
	case isMetadata(a):
		return &EgressDenied{Addr: addr, Is: "a cloud metadata address"}
	}
	if p, closed := containing(g.deny, a); closed {
		return &EgressDenied{Addr: addr, Is: kind(a), Closer: p}
	}
	if g.guardian.SafeAddr(a) != nil && !(a.IsLoopback() && g.loopback()) {
		return &EgressDenied{Addr: addr, Is: kind(a), Opener: netip.PrefixFrom(a, a.BitLen())}
	}
	// Whoever opens a translator's prefix opens the way to the addresses behind
	// it: those must be open by themselves.
	for _, inner := range carried(a) {
		if err := g.Verdict(netip.AddrPortFrom(inner, addr.Port())); err != nil {
			return err
		}
	}
	return nil
}

// isOwn reports whether a:port is one of ours. A server that listens on every
// interface is reached by each address of this machine.
func (g *Guard) isOwn(a netip.Addr, port uint16) bool {
	for _, own := range g.own {
		switch {
		case own.Port() != port:
		case own.Addr() == a:
			return true
		case own.Addr().IsUnspecified() && (a.IsLoopback() || contains(g.machine(), a)):
			return true
		}
	}
	return false
}

// control is asked by a net.Dialer before each connect, with the address that
// the name resolved to.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("egress denied: %s is no network for requests", network)
	}
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress denied: %w", err)
	}
	return g.Verdict(addr)
}

func contains(addrs []netip.Addr, a netip.Addr) bool {
	for _, other := range addrs {
		if other == a {
			return true
		}
	}
	return false
}

func interfaceAddrs() []netip.Addr {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil // loopback is compared without this list
	}
	addrs := make([]netip.Addr, 0, len(nets))
	for _, n := range nets {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			addrs = append(addrs, plain(p.Addr()))
		}
	}
	return addrs
}
