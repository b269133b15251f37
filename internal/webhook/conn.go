package webhook

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// conn is a connection to a receiver. Either one attempt uses it, on its own
// goroutine, or the pool keeps it, so only interrupt may be called by another
// goroutine.
//
// An attempt writes its request and reads the reply itself. net/http has two more
// goroutines for each connection, and wakes them in turn, which took half of the
// processor time of a delivery. It also repeats requests on a new connection if
// it considers them harmless, but an attempt must be one request.
type conn struct {
	net.Conn                 // a *tls.Conn, or raw
	raw      net.Conn        // the connection below TLS
	system   syscall.RawConn // raw for system calls; nil means that it has none
	key      poolKey

	*buffers           // nil while the pool keeps the connection
	left     int       // how many more bytes may be read
	read     int       // how many bytes of the reply were read
	writing  chan bool // closed when the write has ended; nil if it was not in a goroutine of its own
	writeErr error     // read after the write has ended

	keep      time.Duration // how long the connection may be idle
	idleSince time.Time     // while the pool keeps the connection
}

// buffers is the memory that an attempt needs and an idle connection does not.
type buffers struct {
	reader  *bufio.Reader // reads the conn
	request []byte
}

const replyBuffer = 4 << 10

var freeBuffers = sync.Pool{New: func() any {
	return &buffers{reader: bufio.NewReaderSize(nil, replyBuffer)}
}}

// newConn returns a conn for a new connection, where raw is the connection below
// TLS, or c itself.
func newConn(c, raw net.Conn, key poolKey) *conn {
	made := &conn{Conn: c, raw: raw, key: key, keep: idleTimeout}
	if s, ok := raw.(syscall.Conn); ok {
		made.system, _ = s.SyscallConn() // an error means that it is closed
	}
	return made
}

// begin prepares the connection for an attempt that ends at deadline. It reports
// false if a kept connection cannot be used: it is too old, the receiver has
// closed it, or the receiver has sent something that no request asked for.
func (c *conn) begin(deadline time.Time, kept bool) bool {
	if c.SetDeadline(deadline) != nil || kept && (c.old() || !c.silent() || c.SetDeadline(deadline) != nil) {
		return false
	}
	c.buffers, _ = freeBuffers.Get().(*buffers)
	c.reader.Reset(c)
	c.left, c.read = maxReplyHeader, 0
	c.writing, c.writeErr = nil, nil
	return true
}

// old reports whether a kept connection has been idle for too long. The pool's
// timer and the monotonic clock stand still while the machine is suspended, and
// the wall clock may step.
func (c *conn) old() bool {
	now := time.Now()
	wall := now.Round(0).Sub(c.idleSince.Round(0))
	return now.Sub(c.idleSince) >= c.keep || wall >= c.keep || wall < 0
}

// keptRequest is the size up to which the memory of a request is used again.
const keptRequest = 32 << 10

// release frees the memory of the attempt.
func (c *conn) release() {
	c.reader.Reset(nil)
	if cap(c.request) <= keptRequest {
		c.request = c.request[:0]
		freeBuffers.Put(c.buffers)
	}
	c.buffers = nil
}

// interrupt ends the reads and writes of the attempt under way, from any
// goroutine.
func (c *conn) interrupt() { _ = c.raw.SetDeadline(time.Unix(1, 0)) }

// close closes the connection without waiting for the receiver: another goroutine
// writes the last alert of TLS, which a receiver that reads nothing would delay.
func (c *conn) close() {
	if c.Conn == c.raw {
		_ = c.raw.Close()
		return
	}
	time.AfterFunc(alertTimeout, func() { _ = c.raw.Close() }) // TLS would wait for five seconds
	go c.Conn.Close()
}

// alertTimeout is how long TLS may take to send its last alert.
const alertTimeout = 100 * time.Millisecond

const (
	// inlineWrite is how many bytes an attempt writes itself. They fit into the
	// buffers of the kernel, unless the receiver reads nothing.
	inlineWrite = 16 << 10

	// writeWait is how long the rest of the write may take after the whole reply
	// has come, and how long a reply may take after the write has failed.
	writeWait = 50 * time.Millisecond
)

// send writes c.request and the body. The first bytes are written at once, since
// the lease was checked right before. The rest of a large request is written by
// another goroutine, because a receiver may reply before it has read all of it.
func (c *conn) send(body []byte) {
	first := min(max(inlineWrite-len(c.request), 0), len(body))
	c.request = append(c.request, body[:first]...)
	c.write(c.request)
	if rest := body[first:]; len(rest) > 0 && c.writeErr == nil {
		c.writing = make(chan bool)
		go func() {
			defer close(c.writing)
			c.write(rest)
		}()
	}
}

// write writes b. After an error a reply must come soon, because the receiver has
// perhaps sent it before it closed the connection.
func (c *conn) write(b []byte) {
	if _, c.writeErr = c.Write(b); c.writeErr != nil {
		_ = c.SetReadDeadline(time.Now().Add(writeWait))
	}
}

// finish gives the write that long to end, and returns its error.
func (c *conn) finish(wait time.Duration) error {
	if c.writing != nil {
		_ = c.SetWriteDeadline(time.Now().Add(wait))
		<-c.writing
	}
	return c.writeErr
}

var errHeaderTooLong = errors.New("the reply's header is too long")

// Read implements io.Reader for the reply.
func (c *conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errHeaderTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	c.read += n
	return n, err
}

// headRequest makes http.ReadResponse expect no body in the reply.
var headRequest = &http.Request{Method: http.MethodHead}

// readHeader reads the status and the header of the reply, after the replies with
// a status of 1xx.
func (c *conn) readHeader(method string) (*http.Response, error) {
	var request *http.Request
	if method == http.MethodHead {
		request = headRequest
	}
	for {
		reply, err := http.ReadResponse(c.reader, request)
		switch {
		case err != nil && c.read == 0 && errors.Is(err, io.ErrUnexpectedEOF):
			return nil, io.EOF
		case err != nil:
			return nil, err
		case reply.StatusCode >= 100 && reply.StatusCode <= 199 && reply.StatusCode != http.StatusSwitchingProtocols:
			continue
		}
		c.left = math.MaxInt
		return reply, nil
	}
}

// silent reports whether a kept connection is open and has no unread bytes, and
// changes the deadlines.
func (c *conn) silent() bool {
	found := peek(c.system)
	if c.Conn == c.raw && canPeek {
		return found == nothingToRead
	}
	// TLS may have read more than one message at a time, and has messages of its
	// own, such as session tickets. A read consumes those, and then finds nothing.
	// Only bytes in the kernel can take some time.
	until := time.Unix(1, 0)
	switch found {
	case closedByPeer:
		return false
	case someToRead:
		until = time.Now().Add(time.Millisecond)
	}
	// TLS may have to write as well, and if that failed, the connection could not
	// be used any more.
	if c.SetReadDeadline(until) != nil || c.SetWriteDeadline(time.Now().Add(writeWait)) != nil {
		return false
	}
	n, err := c.Conn.Read(make([]byte, 1))
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// The results of peek.
type peeked uint8

const (
	nothingToRead peeked = iota
	someToRead
	closedByPeer
)

// remote returns the address of the peer, or the zero value if there is none.
func (c *conn) remote() netip.AddrPort {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}
