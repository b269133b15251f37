package idle

import (
	"net"
	"time"
)

// wrapperOf returns an empty wrapper that has the optional methods of c, and
// its embedded wrapped.
func wrapperOf(c net.Conn) (wrapper net.Conn, base *wrapped) {
	switch c.(type) {
	case *net.TCPConn:
		w := new(wrappedTCP)
		return w, &w.wrapped
	case interface {
		closeReader
		closeWriter
	}:
		w := new(wrappedHalves)
		return w, &w.wrapped
	case closeWriter:
		w := new(wrappedHalf)
		return w, &w.wrapped
	}
	w := new(wrapped)
	return w, w
}

type (
	closeReader interface{ CloseRead() error }
	closeWriter interface{ CloseWrite() error }
)

// wrappedHalf wraps a connection that can close only its sending half, such as
// *tls.Conn.
type wrappedHalf struct{ wrapped }

func (c *wrappedHalf) CloseWrite() error {
	return c.explain("close", c.Conn.(closeWriter).CloseWrite())
}

// wrappedHalves wraps a connection that can close each half, such as
// *net.UnixConn.
type wrappedHalves struct{ wrappedHalf }

func (c *wrappedHalves) CloseRead() error {
	return c.explain("close", c.Conn.(closeReader).CloseRead())
}

// isStream reports whether a Write may be cut into pieces without changing the
// data the peer reads.
func isStream(c net.Conn) bool {
	address := c.LocalAddr()
	if address == nil {
		return false
	}
	switch address.Network() {
	case "tcp", "unix", "pipe":
		return true
	}
	return false
}

// refused is the result of NewConn for a connection that could not be tracked
// and was closed.
type refused struct {
	net.Conn
	Entry // never tracked, so its methods do nothing
	err   error
}

func (r *refused) NetConn() net.Conn                { return r.Conn }
func (r *refused) Read([]byte) (int, error)         { return 0, r.err }
func (r *refused) Write([]byte) (int, error)        { return 0, r.err }
func (r *refused) Close() error                     { return r.err }
func (r *refused) SetDeadline(time.Time) error      { return r.err }
func (r *refused) SetReadDeadline(time.Time) error  { return r.err }
func (r *refused) SetWriteDeadline(time.Time) error { return r.err }
