package redisconn

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// connections tracks the open connections of a client of rueidis. The client
// ignores the contexts of its callers while it waits for a new connection, and
// while it waits for the last replies on close. Only closing the connections
// ends these waits in time.
type connections struct {
	lifetime context.Context
	end      context.CancelFunc // closes all connections and prevents new ones

	mu   sync.Mutex // guards all
	all  map[*connection]struct{}
	dial func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)
}

// connection is one entry of connections until it is closed.
type connection struct {
	net.Conn
	of      *connections
	dialled string // host:port, as the client named it
}

func newConnections() *connections {
	c := &connections{all: map[*connection]struct{}{}, dial: dial}
	c.lifetime, c.end = context.WithCancel(context.Background())
	context.AfterFunc(c.lifetime, c.closeAll)
	return c
}

func dial(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	secure := tls.Dialer{NetDialer: d, Config: config}
	return secure.DialContext(ctx, "tcp", addr)
}

// open makes a connection, for a client.
func (c *connections) open(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.lifetime, stop)()
	conn, err := c.dial(ctx, addr, d, config)
	if err != nil {
		return nil, err
	}
	one := &connection{conn, c, addr}
	c.mu.Lock()
	c.all[one] = struct{}{}
	c.mu.Unlock()
	if c.lifetime.Err() != nil { // closeAll may have run before
		_ = one.Close()
		return nil, net.ErrClosed
	}
	return one, nil
}

func (c *connections) closeAll() {
	c.mu.Lock()
	all := make([]*connection, 0, len(c.all))
	for one := range c.all {
		all = append(all, one)
	}
	c.mu.Unlock()
	for _, one := range all {
		_ = one.Close()
	}
}

// Close implements net.Conn.
func (one *connection) Close() error {
	one.of.mu.Lock()
	delete(one.of.all, one)
	one.of.mu.Unlock()
	return one.Conn.Close()
}
