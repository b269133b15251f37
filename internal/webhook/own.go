package webhook

import (
	"net/netip"
	"slices"
)

// Own is a set of addresses that no configuration opens: the API of this server
// and of the other nodes, the store, and the collector of traces. An
// unspecified address (0.0.0.0, ::) stands for every address of this machine.
//
// An Own never changes. A nil Own is empty.
type Own struct {
	ports map[uint16]onPort
}

// onPort is what a port's addresses are.
type onPort struct {
	addrs map[netip.Addr]struct{}
	local bool // an address of this machine is one of them, whichever it is
}

// NewOwn returns the set of the addresses in list.
func NewOwn(list []netip.AddrPort) *Own {
	o := &Own{ports: map[uint16]onPort{}}
	for _, addr := range list {
		a, p := plain(addr.Addr()), o.ports[addr.Port()]
		if p.addrs == nil {
			p.addrs = map[netip.Addr]struct{}{}
		}
		p.addrs[a] = struct{}{}
		p.local = p.local || a.IsUnspecified()
		o.ports[addr.Port()] = p
	}
	return o
}

// isOwn reports whether the plain address a leads to an address of ours at
// port: by itself, or through a translator. Operators choose the prefixes of
// their translators, so an address of ours counts in each place of a.
func (g *Guard) isOwn(a netip.Addr, port uint16) bool {
	own := g.own()
	if own == nil {
		return false
	}
	at, used := own.ports[port]
	if !used { // mostly
		return false
	}
	if g.isAt(at, a) {
		return true
	}
	return !a.Is4() && !a.IsLoopback() && slices.ContainsFunc(embeddings, func(place [4]int) bool { return g.isAt(at, embedded(a, place)) })
}

func (g *Guard) isAt(p onPort, a netip.Addr) bool {
	_, found := p.addrs[a]
	return found || p.local && g.isLocal(a)
}
