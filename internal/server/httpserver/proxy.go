package httpserver

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddr returns a function that finds the client of a request: the peer of
// its connection or, if that is a trusted proxy, the client that the proxy
// names. Headers from other peers are ignored, because any client can send
// them.
func ClientAddr(proxies []netip.Prefix) func(*http.Request) netip.Addr {
	return func(r *http.Request) netip.Addr {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return netip.Addr{} // not TCP: all such clients count as one
		}
		return clientBehind(proxies, peer.Addr(), r.Header)
	}
}

// clientBehind returns the client for which peer sent a request: the last
// address of X-Forwarded-For that is not a trusted proxy. Each proxy adds the
// address of its own client, so the walk up the chain continues while the address
// that added an element is trusted. It stops at an element that is not an address.
func clientBehind(proxies []netip.Prefix, peer netip.Addr, h http.Header) netip.Addr {
	peer = peer.Unmap().WithZone("")
	chain := strings.Split(strings.Join(h["X-Forwarded-For"], ","), ",")
	for len(chain) > 0 && within(proxies, peer) {
		addr, ok := hopAddr(strings.TrimSpace(chain[len(chain)-1]))
		if !ok {
			break
		}
		peer, chain = addr, chain[:len(chain)-1]
	}
	return peer
}

func within(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// hopAddr parses an address as proxies write it: with or without a port, IPv6
// with or without brackets. It returns false for "unknown" and for names that
// hide an address.
func hopAddr(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	addr, err := netip.ParseAddr(text)
	return addr.Unmap().WithZone(""), err == nil
}
