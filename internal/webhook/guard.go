package webhook

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// The flags that open and close addresses, for error messages.
const (
	allowFlag = "--egress-allow"
	denyFlag  = "--egress-deny"
)

// ownKind describes the addresses in Config.Own.
const ownKind = "an address of this server, of another node, of the store or of the trace collector"

// Guard decides which addresses a task's request may reach.
//
// Addresses of the public internet are open, while private and other special
// ones need a prefix in Config.Allow. So do this machine's own addresses,
// loopback and those of its interfaces, unless Config.AllowLoopback returns
// true. Config.Deny closes addresses that would be open. Cloud metadata,
// Config.Own and addresses that are not valid destinations are always closed.
//
// Many goroutines may use a Guard, because only three things change: the
// results of Config.AllowLoopback and Config.Own, and the list of interfaces.
type Guard struct {
	own      func() *Own
	deny     []netip.Prefix
	open     []netip.Prefix // opened by the configuration
	loopback func() bool    // reports whether loopback is open
	machine  *machine
	guardian *ssrf.Guardian
	opener   string // for error messages
}

// NewGuard returns the guard for cfg.
func NewGuard(cfg Config) *Guard {
	g := &Guard{machine: newMachine(InterfaceAddrs, time.Now), open: plainPrefixes(cfg.Allow), deny: plainPrefixes(cfg.Deny), opener: cmp.Or(cfg.Opener, allowFlag)}
	if g.loopback = cfg.AllowLoopback; g.loopback == nil {
		g.loopback = func() bool { return false }
	}
	if g.own = cfg.Own; g.own == nil {
		g.own = func() *Own { return nil }
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
	return g
}

// egressDenied is the reason why the guard refuses an address, with the flag
// that would open it.
type egressDenied struct {
	Addr   netip.AddrPort
	Is     string       // the kind of the address: "a private address"
	Opener netip.Prefix // the value of allowFlag that opens the address; not valid: allowFlag does not open it
	Closer netip.Prefix // the value of denyFlag that closes it; not valid: denyFlag does not close it
	By     string       // takes Opener: allowFlag, or the name of a function
}

// Error returns a sentence with the address and the flag. Only operators may
// see it, because the address may belong to the internal network.
func (e *egressDenied) Error() string {
	return "egress denied: " + e.detail()
}

func (e *egressDenied) detail() string { return fmt.Sprintf("%s is %s%s", e.Addr, e.Is, e.remedy()) }

// remedy returns the end of the sentence: how to open the address.
func (e *egressDenied) remedy() string {
	switch {
	case e.Closer.IsValid():
		return fmt.Sprintf(", and %s %s closes it", denyFlag, e.Closer)
	case e.Opener.IsValid():
		return fmt.Sprintf("; %s %s opens it", e.By, e.Opener)
	}
	return fmt.Sprintf(", which %s does not open", e.By)
}

// Verdict returns nil if a request may be sent to addr, and otherwise an
// *egressDenied. It sends nothing and takes well under a microsecond, but once
// a second it also reads the machine's interfaces.
func (g *Guard) Verdict(addr netip.AddrPort) error {
	a := plain(addr.Addr())
	switch {
	case !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a == broadcast:
		return &egressDenied{Addr: addr, Is: "not a valid destination", By: g.opener}
	case g.isOwn(a, addr.Port()):
		return &egressDenied{Addr: addr, Is: ownKind, By: g.opener}
	case isMetadata(a):
		return &egressDenied{Addr: addr, Is: "a cloud metadata address", By: g.opener}
	}
	if p, closed := containing(g.deny, a); closed {
		return &egressDenied{Addr: addr, Is: g.kind(a), Closer: p}
	}
	if !g.isOpen(a) {
		return &egressDenied{Addr: addr, Is: g.kind(a), Opener: netip.PrefixFrom(a, a.BitLen()), By: g.opener}
	}
	// A translator's prefix that an operator opens is a way to the addresses
	// behind it, so those must be open by themselves.
	for _, inner := range carried(a) {
		if err := g.Verdict(netip.AddrPortFrom(inner, addr.Port())); err != nil {
			return err
		}
	}
	return nil
}

// isOpen reports whether the configuration opens the plain address a.
func (g *Guard) isOpen(a netip.Addr) bool {
	if g.isLocal(a) {
		return g.loopback() || within(g.open, a)
	}
	return g.guardian.SafeAddr(a) == nil
}

// isLocal reports whether the plain address a leads to this machine, because
// services that listen on all interfaces trust such an address as much as
// loopback.
func (g *Guard) isLocal(a netip.Addr) bool { return a.IsLoopback() || g.machine.has(a) }

// kind describes the plain address a, open or not.
func (g *Guard) kind(a netip.Addr) string {
	if !a.IsLoopback() && g.machine.has(a) {
		return "an address of this machine"
	}
	return kind(a)
}

// control is called by a net.Dialer before each connect, with the resolved
// address.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("egress denied: requests must not use network %s", network)
	}
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress denied: %w", err)
	}
	return g.Verdict(addr)
}
