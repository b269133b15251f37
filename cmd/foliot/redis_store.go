package main

import (
	"net"
	"os"
	"strconv"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/store/redisstore"
)

// redisConfig returns how the store in the servers that the configuration names is
// opened. An error names a file of their URL.
func (s *server) redisConfig() (*redisstore.Config, error) {
	client, err := s.cfg.redis.Options()
	if err != nil {
		return nil, err
	}
	c := s.cfg.sharing.config()
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
