package redisconn

import (
	"context"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Endpoints returns the same as Store.Endpoints, without the APIs of the nodes.
func (s *Servers) Endpoints() []string {
	all := slices.Concat(s.config.Client.InitAddress, s.conns.endpoints())
	if m := s.Masters.Load(); m != nil {
		all = append(all, m.endpoints()...)
	}
	if list := s.sentinels.Load(); list != nil {
		all = append(all, *list...)
	}
	return all
}

// endpoints returns the addresses of the open connections.
func (c *connections) endpoints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]string, 0, 2*len(c.all))
	for one := range c.all {
		all = append(all, one.dialled, one.RemoteAddr().String())
	}
	return all
}

// endpoints returns the masters and their replicas.
func (m *Masters) endpoints() []string {
	var all []string
	for _, sp := range m.spans {
		all = append(append(all, sp.addr), sp.replicas...)
	}
	for _, how := range m.how {
		all = append(all, how.followers...)
	}
	return all
}

// endpoint joins two fields of a reply to host:port. It returns "" if the
// server does not know its address.
func endpoint(host, port string) string {
	if n, err := strconv.ParseUint(port, 10, 16); host == "" || host == "?" || err != nil || n == 0 {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// sentinelsEvery is the time between two reads of the list of Sentinels.
const sentinelsEvery = 10 * time.Second

// watchSentinels reads the list of Sentinels until the servers are closed. It
// runs in parallel to watch, because a Sentinel that died costs dialTime, and often
// it died with the master.
func (s *Servers) watchSentinels() {
	for open := true; open; open = s.Pause(s.Lifetime, sentinelsEvery) {
		s.findSentinels(s.Lifetime)
	}
}

// findSentinels reads the other Sentinels of the same master, for which one answer
// is enough.
func (s *Servers) findSentinels(ctx context.Context) {
	known := slices.Clone(s.config.Client.InitAddress)
	if list := s.sentinels.Load(); list != nil {
		known = append(known, *list...)
	}
	for _, addr := range known {
		if found, err := s.sentinelsAt(ctx, addr); err == nil {
			s.sentinels.Store(&found)
			return
		}
	}
}

// dialOne connects to the one server at addr.
func (s *Servers) dialOne(addr string, o rueidis.ClientOption) (rueidis.Client, error) {
	o.InitAddress, o.Sentinel, o.ForceSingleClient, o.DialCtxFn = []string{addr}, rueidis.SentinelOption{}, true, s.conns.open
	return rueidis.NewClient(tuned(o))
}

func (s *Servers) sentinelsAt(ctx context.Context, addr string) ([]string, error) {
	o := s.config.Client.Sentinel
	client, err := s.dialOne(addr, rueidis.ClientOption{Username: o.Username, Password: o.Password, ClientName: o.ClientName, Dialer: o.Dialer, TLSConfig: o.TLSConfig, DisableCache: true})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(ctx, CheckEvery)
	defer stop()
	list, err := client.Do(ctx, client.B().SentinelSentinels().Master(s.config.Client.Sentinel.MasterSet).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	found := []string{addr}
	for _, m := range list {
		fields, err := m.AsStrMap()
		if err != nil {
			return nil, err
		}
		if other := endpoint(fields["ip"], fields["port"]); other != "" {
			found = append(found, other)
		}
	}
	return found, nil
}
