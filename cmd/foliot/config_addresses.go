package main

import (
	"net"
	"net/url"
)

// collectorAddr returns host:port of the collector of traces; none if there is none.
func (c *serveConfig) collectorAddr() []string {
	u, err := url.Parse(c.otlp)
	if c.otlp == "" || err != nil {
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

// storeAddrs returns host:port of the servers that --store names.
func (c *serveConfig) storeAddrs() []string {
	if c.redis == nil {
		return nil
	}
	return c.redis.Addrs
}
