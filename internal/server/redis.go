package server

import (
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/webhook"
)

// redisConfig returns how the store in the servers that the configuration names is
// opened. An error names a file of their URL.
func (s *Server) redisConfig() (*redisstore.Config, error) {
	client, err := s.cfg.Redis.Options()
	if err != nil {
		return nil, err
	}
	c := s.cfg.Sharing.StoreConfig()
	c.Client = client
	c.Version, c.Address = buildinfo.Version(), advertised(s.listener.Addr())
	c.APIs = func() []string { return apisOf(s.listener.Addr()) }
	return &c, nil
}

// advertised returns where others reach a listener, as far as it tells: by the
// machine's name, where it listens at all of its addresses.
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

// apisOf returns where a listener on all addresses of the machine is reached
// from other machines, host:port.
func apisOf(at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return nil // its own address says it
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
