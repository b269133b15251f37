package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard protects the server from requests that a browser sends for a page of
// another site. Such a page can reach every address that its visitor can reach,
// including loopback, but browsers mark these requests, so guard refuses them.
//
// A page can also map its own host name to the server's address (DNS rebinding).
// The browser does not mark such a request, so guard requires a Host that the
// server knows. There are no CORS headers, so no other site can read replies.
type guard struct {
	hosts       map[string]bool // lower case, without port
	crossOrigin *http.CrossOriginProtection
}

func newGuard(hosts []string) *guard {
	g := &guard{hosts: map[string]bool{}, crossOrigin: http.NewCrossOriginProtection()}
	for _, h := range hosts {
		h = hostname(h)
		if addr, err := netip.ParseAddr(h); h == "" || err == nil && addr.IsUnspecified() {
			continue // the unspecified address is not a name of the server
		}
		g.hosts[h] = true
	}
	return g
}

// check returns the problem with the origin of r, or nil, and checks the Host
// too if ofHost is set.
func (g *guard) check(r *http.Request, ofHost bool) error {
	if ofHost && !g.allowed(r) {
		return refuse("host_not_allowed", "Host", "the server does not know this name: use its address, or start it with `foliot serve --host NAME`")
	}
	return crossOrigin(g.crossOrigin.Check(r))
}

// checkOrigin refuses requests that a page of another site sends, including GET.
func (g *guard) checkOrigin(r *http.Request) error {
	asked := *r
	asked.Method = http.MethodPost // a GET would pass
	return crossOrigin(g.crossOrigin.Check(&asked))
}

func crossOrigin(err error) error {
	if err != nil {
		return refuse("cross_origin", "", "a browser sent this from another site")
	}
	return nil
}

func (g *guard) allowed(r *http.Request) bool {
	host := hostname(r.Host)
	if g.hosts[host] || host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	// An address cannot be rebound like a name, and the address of the
	// connection is one of the server's.
	addr = addr.Unmap()
	return addr.IsLoopback() || addr == localAddr(r)
}

func localAddr(r *http.Request) netip.Addr {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().Unmap().WithZone("")
}

// hostname returns the name in a Host header or in the configuration, in lower
// case, without port, brackets and trailing dot.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
