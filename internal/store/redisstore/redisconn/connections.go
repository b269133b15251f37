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
	dialled string // host:port, as the client named it
	forget  func()
}

func newConnections() *connections {
	c := &connections{all: map[*connection]struct{}{}, dial: dial}
	c.lifetime, c.end = context.WithCancel(context.Background())
	return c
}

func dial(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	secure := tls.Dialer{NetDialer: d, Config: config}
	return secure.DialContext(ctx, "tcp", addr)
}

func (c *connections) open(ctx context.Context, addr string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.lifetime, stop)()
	conn, err := c.dial(ctx, addr, d, config)
	if err != nil {
		return nil, err
	}
	one := &connection{Conn: conn, dialled: addr}
	unhook := context.AfterFunc(c.lifetime, func() { _ = conn.Close() })
	one.forget = func() {
		unhook()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, one)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[one] = struct{}{}
	return one, nil
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}
