package webhook

import (
	"net/netip"
	"slices"
)

// Own is a set of addresses that no configuration opens: the API of this server
// and of the other nodes, the store, and the trace collector. An unspecified
// address (0.0.0.0, ::) stands for every address of this machine.
//
// An Own never changes, and a nil Own is empty.
type Own struct {
	ports map[uint16]onPort
}

// onPort holds the addresses of a port.
type onPort struct {
	addrs map[netip.Addr]bool // without unspecified ones: most IPv6 addresses have four zero bytes at one of the positions
	local bool                // every address of this machine is included
}

// NewOwn returns the set of the addresses in list.
func NewOwn(list []netip.AddrPort) *Own {
	o := &Own{ports: map[uint16]onPort{}}
	for _, addr := range list {
		a, p := plain(addr.Addr()), o.ports[addr.Port()]
		if p.addrs == nil {
			p.addrs = map[netip.Addr]bool{}
		}
		if a.IsUnspecified() {
			p.local = true
		} else {
			p.addrs[a] = true
		}
		o.ports[addr.Port()] = p
	}
	return o
}

// isOwn reports whether the plain address a leads to one of our addresses at
// port, directly or through a translator. Operators choose the prefixes of
// their translators, so our address counts at each position in a. 127.0.0.0/8
// counts as this machine only if a itself is loopback or a well-known
// translation of it (see carried): one public IPv6 address in a hundred has the
// byte 127 at one of these positions.
func (g *Guard) isOwn(a netip.Addr, port uint16) bool {
	own := g.own()
	if own == nil {
		return false
	}
	at, used := own.ports[port]
	if !used { // the usual case
		return false
	}
	if at.addrs[a] || at.local && g.isLocal(a) {
		return true
	}
	return !a.Is4() && !a.IsLoopback() && slices.ContainsFunc(embeddings, func(place [4]int) bool {
		inner := embedded(a, place)
		return at.addrs[inner] || at.local && g.machine.has(inner)
	})
}
