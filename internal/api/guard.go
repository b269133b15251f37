package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard keeps browsers from being used against the server. A page of another
// site can send requests to any address its visitor reaches, loopback
// included: those are refused by what browsers say about them. And it can give
// its own host name our address (DNS rebinding), so that they no longer look
// foreign: therefore a request must name one of our hosts. There are no CORS
// headers: no other site may read us.
type guard struct {
	hosts       map[string]bool // lower case, without port
	crossOrigin *http.CrossOriginProtection
}

func newGuard(hosts []string) *guard {
	g := &guard{hosts: map[string]bool{}, crossOrigin: http.NewCrossOriginProtection()}
	for _, h := range hosts {
		h = hostname(h)
		if addr, err := netip.ParseAddr(h); h == "" || err == nil && addr.IsUnspecified() {
			continue // where one listens on every address: that is no name to be called by
		}
		g.hosts[h] = true
	}
	return g
}

// check returns the problem with where r comes from or goes to, or nil.
func (g *guard) check(r *http.Request) error {
	if !g.allowed(r) {
		return refuse("host_not_allowed", "Host", "this server is not called that: use its own address, or start it with `foliot serve --host NAME`")
	}
	return crossOrigin(g.crossOrigin.Check(r))
}

// checkOrigin refuses what a page of another site sends, also where it changes
// nothing.
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
	// An address in place of a name cannot be rebound; the one that the
	// connection came in on is ours.
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

// hostname returns a Host header's or a configured host's name: without port,
// brackets, trailing dot and capitals.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
