package config

import (
	"net"
	"net/url"
)

// CollectorAddr returns host:port of the trace collector, or nil if there is
// none.
func (c *Config) CollectorAddr() []string {
	u, err := url.Parse(c.OTLP)
	if c.OTLP == "" || err != nil {
		return nil
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return []string{net.JoinHostPort(u.Hostname(), port)}
}

// StoreAddrs returns host:port of the Redis servers of --store, or nil.
func (c *Config) StoreAddrs() []string {
	if c.Redis == nil {
		return nil
	}
	return c.Redis.Addrs
}
