package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/netip"
	"runtime"
	"time"
)

// Clients without a token are bounded for each connection and each address, so
// that deliveries get processor time.
const (
	// maxUnauthenticated bounds the unauthenticated connections of one address.
	// A further one closes the oldest: a client with a token is authenticated
	// with its first request, in a few milliseconds.
	maxUnauthenticated = 1024
	// resetBurst and resetRate bound the requests that a client resets on one
	// HTTP/2 connection, at once and per second. A connection with more is
	// closed.
	resetBurst, resetRate = 100, 10
	// sentBurst and sentRate bound the bytes that are read from an
	// unauthenticated client, at once and per second. A first request is a few
	// kilobytes long. Frames of HTTP/2 are short, and each costs processor
	// time, even a frame that ends a request.
	sentBurst, sentRate = 32 << 10, 16 << 10
)

// newHandshakes returns room for the TLS handshakes that compute at once. Each
// takes a processor for about a millisecond. Half of the processors remain for
// deliveries.
func newHandshakes() chan struct{} {
	return make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
}

var errHandshakes = errors.New("too many handshakes at once")

// compute waits for room for the handshake of hello. The handshake keeps the
// room until it writes, or until its connection is closed.
func compute(hello *tls.ClientHelloInfo) error {
	client := clientOf(hello.Conn)
	if client == nil {
		return nil
	}
	return client.compute(hello.Context())
}

func (c *clientConn) compute(ctx context.Context) error {
	if c.computing.Load() {
		return nil
	}
	over := time.NewTimer(HeaderTimeout)
	defer over.Stop()
	select {
	case c.handshakes <- struct{}{}:
		c.computing.Store(true)
	case <-c.gone:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-over.C:
		return errHandshakes
	}
	select {
	case <-c.gone: // Close came first, so nothing else would free the room
		c.computed()
	default:
	}
	return nil
}

// computed frees the room that compute took, if any.
func (c *clientConn) computed() {
	if c.computing.Load() && c.computing.CompareAndSwap(true, false) {
		<-c.handshakes
	}
}

// countReset counts a request that the client reset, and closes a connection
// with too many.
func (c *clientConn) countReset(now time.Time) {
	c.mu.Lock()
	over := c.resets.Overdraw(now, 1, resetRate, math.Inf(1)) > resetBurst
	c.mu.Unlock()
	if over {
		_ = c.Close() // no caller could use the error
	}
}

// throttle waits after an unauthenticated client has sent n bytes, if these are
// too many. It returns early when the client is authenticated or the connection
// is closed.
func (c *clientConn) throttle(n int) {
	if c.exempt {
		return
	}
	select {
	case <-c.known:
		return
	default:
	}
	tooMany := c.sent.Overdraw(time.Now(), n, sentRate, math.Inf(1)) - sentBurst
	if tooMany <= 0 {
		return
	}
	over := time.NewTimer(time.Duration(tooMany / sentRate * float64(time.Second)))
	defer over.Stop()
	select {
	case <-over.C:
	case <-c.known:
	case <-c.gone:
	}
}

// addressOf returns the address of the peer. It returns false if there is none.
func addressOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr().Unmap().WithZone(""), true
}
