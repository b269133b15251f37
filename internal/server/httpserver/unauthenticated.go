package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"time"
)

// Clients that show no token are bounded for each connection and each
// address, so that deliveries find a processor.
const (
	// maxStrangers bounds the connections of one address that are not authenticated
	// yet. For a further one the oldest goes: a client with a token is let in with its
	// first request, in a few milliseconds.
	maxStrangers = 1024
	// resetBurst and resetRate bound the requests that a client takes back on one
	// HTTP/2 connection, at once and a second. A connection with more is closed.
	resetBurst, resetRate = 100, 10
	// sentBurst and sentRate bound the bytes that are read from a stranger, at once
	// and a second. A first request is a few kilobytes long. Frames of HTTP/2 are
	// short, and each costs some processor time, also those that end a request.
	sentBurst, sentRate = 32 << 10, 16 << 10
)

// newHandshakes returns room for the TLS handshakes that compute at once: each takes
// a processor for about a millisecond, and half of them are for deliveries.
func newHandshakes() chan struct{} {
	return make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
}

var errHandshakes = errors.New("too many handshakes at once")

// compute waits for room for the handshake of hello. The handshake has it until it
// writes, or its connection is closed.
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
	case <-c.gone: // closed before: nothing ends it any more
		c.computed()
	default:
	}
	return nil
}

// computed gives back the place that compute took, if anything.
func (c *clientConn) computed() {
	if c.computing.Load() && c.computing.CompareAndSwap(true, false) {
		<-c.handshakes
	}
}

// tookBack counts a request that the client took back, and closes a connection that
// has too many.
func (c *clientConn) tookBack(now time.Time) {
	c.mu.Lock()
	over := c.resets.use(1, now, resetBurst, resetRate) > 0
	c.mu.Unlock()
	if over {
		_ = c.Close() // there is no reader of the error
	}
}

// spending counts the use of an allowance that refills at a steady rate.
type spending struct {
	used float64
	at   time.Time // of used
}

// use notes n at now, and returns how long it takes until used is back at burst.
func (b *spending) use(n int, now time.Time, burst, rate float64) time.Duration {
	b.used = max(0, b.used-now.Sub(b.at).Seconds()*rate) + float64(n)
	b.at = now
	return max(0, time.Duration((b.used-burst)/rate*float64(time.Second)))
}

// hinder waits after a stranger has sent n bytes, if these are too many. It ends
// when the client is let in, or the connection is closed.
func (c *clientConn) hinder(n int) {
	if c.exempt {
		return
	}
	select {
	case <-c.known:
		return
	default:
	}
	wait := c.sent.use(n, time.Now(), sentBurst, sentRate)
	if wait == 0 {
		return
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case <-over.C:
	case <-c.known:
	case <-c.gone:
	}
}

// addressOf returns the other end of a connection; false if it has none.
func addressOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr().Unmap().WithZone(""), true
}

// networkOf is the range that counts as one address: one machine has 2^64 of IPv6.
func networkOf(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	p, _ := addr.Prefix(64) // fits every IPv6 address
	return p.Addr()
}
