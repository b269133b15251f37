package server

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/foliot/foliot/internal/webhook"
)

// advertised returns the address at which other machines reach a listener, as
// far as the listener shows it. If it listens on all addresses, the host is the
// name of the machine.
func advertised(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// apisOf returns, as host:port, each address at which other machines reach a
// listener on all addresses, or nil for a listener on one address.
func apisOf(at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return nil // advertised returns its one address
	}
	addrs, err := webhook.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var apis []string
	for _, a := range addrs {
		if a.IsGlobalUnicast() {
			apis = append(apis, netip.AddrPortFrom(a, uint16(tcp.Port)).String()) //nolint:gosec // a port
		}
	}
	return apis
}
