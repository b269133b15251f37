package httpserver

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how much of a chain of proxies is read.
const maxHops = 32

// ClientAddr returns what says who sent a request: the other end of its
// connection or, where that is a trusted proxy, the client that it passes the
// request on for. What others say is not read: anybody can send a header.
func ClientAddr(proxies []netip.Prefix) func(*http.Request) netip.Addr {
	return func(r *http.Request) netip.Addr {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return netip.Addr{} // no TCP: all of them are one
		}
		return clientBehind(proxies, peer.Addr(), r.Header)
	}
}

// clientBehind returns the address for which peer asks: the last one of the
// chain that no trusted proxy has added. Proxies write Forwarded (RFC 7239) or
// X-Forwarded-For and pass on the other one as it came, from anybody: where
// the two disagree neither is believed.
func clientBehind(proxies []netip.Prefix, peer netip.Addr, h http.Header) netip.Addr {
	peer = peer.Unmap().WithZone("")
	var standard []string
	for _, element := range listOf(h["Forwarded"]) {
		standard = append(standard, forParameter(element))
	}
	client := follow(proxies, peer, listOf(h["X-Forwarded-For"]))
	if standard == nil {
		return client
	}
	byStandard := follow(proxies, peer, standard)
	if h["X-Forwarded-For"] != nil && byStandard != client {
		return peer
	}
	return byStandard
}

// follow goes from peer up the chain, whose last element peer has added, while
// the one that says so is trusted. It ends before what is no address.
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
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// listOf splits the lines of a header at their commas. Quoted commas do not
// occur in what we look for; what has one is no address.
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

// hopAddr reads an address as proxies write it: with a port or without, IPv6 in
// brackets or not. "unknown" and names that hide an address are none.
func hopAddr(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	addr, err := netip.ParseAddr(text)
	return addr.Unmap().WithZone(""), err == nil
}
