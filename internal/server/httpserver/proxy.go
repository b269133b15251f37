package httpserver

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is how many elements of a chain of proxies are read at most, counted from
// its end.
const maxHops = 32

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

// clientBehind returns the client for which peer sent a request: the last address
// of the chain that is not a trusted proxy. A proxy writes either Forwarded (RFC
// 7239) or X-Forwarded-For, and passes the other header on unchanged, so a client
// can have forged that one. If the two headers disagree, the result is peer.
func clientBehind(proxies []netip.Prefix, peer netip.Addr, h http.Header) netip.Addr {
	peer = peer.Unmap().WithZone("")
	var forwarded []string
	for _, element := range listOf(h["Forwarded"]) {
		forwarded = append(forwarded, forParameter(element))
	}
	client := follow(proxies, peer, listOf(h["X-Forwarded-For"]))
	if forwarded == nil {
		return client
	}
	byForwarded := follow(proxies, peer, forwarded)
	if h["X-Forwarded-For"] != nil && byForwarded != client {
		return peer
	}
	return byForwarded
}

// follow returns the last address of chain that is not a trusted proxy. It begins
// with peer, which added the last element. If it comes to the end of the chain, or
// to an element that is not an address, it returns the proxy before that.
func follow(proxies []netip.Prefix, peer netip.Addr, chain []string) netip.Addr {
	for hop := 0; hop < maxHops && len(chain) > 0 && within(proxies, peer); hop++ {
		addr, ok := hopAddr(chain[len(chain)-1])
		if !ok {
			break
		}
		peer, chain = addr, chain[:len(chain)-1]
	}
	return peer
}

func within(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// listOf splits the lines of a header at commas. It also splits at quoted
// commas, but an element that contains one is never an address.
func listOf(lines []string) []string {
	var list []string
	for _, line := range lines {
		for element := range strings.SplitSeq(line, ",") {
			list = append(list, strings.TrimSpace(element))
		}
	}
	return list
}

// forParameter returns the for parameter of an element of Forwarded, or "".
func forParameter(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// hopAddr parses an address as proxies write it: with or without a port, IPv6 with
// or without brackets. It returns false for "unknown" and for obfuscated
// identifiers, such as "_hidden" (RFC 7239).
func hopAddr(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	addr, err := netip.ParseAddr(text)
	return addr.Unmap().WithZone(""), err == nil
}
