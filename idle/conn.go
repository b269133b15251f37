package idle

import (
	"io"
	"net"
	"sync/atomic"
)

// Conn is the method set that every connection of NewConn and NewListener has:
// a program may assert that such a net.Conn is a Conn, but must not implement it,
// because a later version may add methods.
//
//	if c, ok := c.(idle.Conn); ok {
//		c.Pong()
//	}
type Conn interface {
	net.Conn

	TouchRead()        // as Entry.TouchRead; Read does it
	TouchWrite()       // as Entry.TouchWrite; Write does it
	Pong()             // as Entry.Pong
	NetConn() net.Conn // the connection that was wrapped
}

var _, _, _, _, _ Conn = (*wrapped)(nil), (*wrappedHalf)(nil), (*wrappedHalves)(nil), (*wrappedTCP)(nil), (*refused)(nil)

// NewConn tracks c and returns it with a Read and a Write that touch, which
// costs some nanoseconds and no allocation. The result is a Conn, and also has
// CloseRead, CloseWrite, ReadFrom and WriteTo if c has them; the last two only
// if c is a *net.TCPConn. NewConn panics if g is nil.
//
// A long Write counts as activity while it progresses, and so does a transfer
// by ReadFrom or WriteTo, including sendfile and splice. On Linux the kernel
// reports the progress, but elsewhere NewConn writes in pieces, so do not use
// it if each Write must be one message. In a group with Config.Activity Kernel,
// touches watch the connections that the kernel cannot report on.
//
// Close ends the watch and closes c. If the group closes the connection, Reads
// and Writes under way return at once. c is closed when its owner calls Close,
// or after a second. All later errors are net.Errors with Timeout true, and
// errors.Is finds os.ErrDeadlineExceeded and net.ErrClosed in them, so a loop
// that continues after timeouts should test for net.ErrClosed. A TLS connection
// is closed without a close_notify, which might block.
//
// If c cannot be tracked, for example because the group is closed or draining,
// NewConn closes c, and Read, Write, Close and the deadline methods of the
// result return Track's error, such as ErrClosed.
func NewConn(c net.Conn, g *Group[net.Conn]) net.Conn {
	w, err := wrap(c, g)
	if err != nil {
		return &refused{Conn: c, err: err}
	}
	return w
}

func wrap(c net.Conn, g *Group[net.Conn]) (net.Conn, error) {
	if g == nil {
		panic("idle: NewConn without a group")
	}
	w, base := wrapperOf(c)
	raw, err := rawOf(c)
	base.Conn, base.group, base.judged = c, g, err == nil
	if !base.judged && isStream(c) {
		base.cutting = make(chan struct{}, 1)
	}
	if err := g.track(w, &base.Entry, raw); err != nil {
		hangUp(c)
		return nil, err
	}
	return w, nil
}

// wrapped is the result of NewConn for connections that have only the methods
// of net.Conn, and is embedded by types with more.
type wrapped struct {
	net.Conn // the inner connection; immutable, as all fields above state
	Entry

	group  *Group[net.Conn]
	judged bool // while a Write or transfer is under way, the group also reads the kernel: Entry.use counts them

	// cutting is full while a Write is under way, if large Writes are cut into
	// pieces: bytes of another Write must not come between them. It is a
	// channel, not a mutex, so that fake time passes in a test while one Write
	// waits for another, and nil if no Write is cut.
	cutting chan struct{}

	// state counts the Reads under way, and has the bits below, which Reads,
	// Close and expire write.
	state atomic.Uint32
}

const (
	expired = 1 << 31 // the group has decided to close it
	closed  = 1 << 30 // the inner connection is closed by the caller that set this bit
	inGrace = 1 << 29 // expired, and the owner may close it within the grace time
	readers = inGrace - 1

	minusOne = ^uint32(0)
)

// piece is the number of bytes between two touches if the kernel cannot be
// read.
const piece = 32 << 10

// NetConn returns the connection that NewConn was called with.
func (c *wrapped) NetConn() net.Conn { return c.Conn }

func (c *wrapped) Read(p []byte) (int, error) {
	if c.state.Add(1)&expired != 0 {
		c.state.Add(minusOne)
		return 0, c.expiredError("read")
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.TouchRead()
	}
	c.state.Add(minusOne)
	return n, c.explain("read", err)
}

func (c *wrapped) Write(p []byte) (n int, err error) {
	if !c.begin() {
		c.end()
		return 0, c.expiredError("write")
	}
	if c.cutting != nil {
		n, err = c.writePieces(p)
	} else if n, err = c.Conn.Write(p); n > 0 {
		c.TouchWrite()
	}
	c.end()
	return n, c.explain("write", err)
}

// writePieces is Write for connections on which only the wrapper sees the
// progress. Other Writes wait for it, as they would on the inner connection.
func (c *wrapped) writePieces(p []byte) (n int, err error) {
	c.cutting <- struct{}{}
	defer func() { <-c.cutting }()
	for {
		next := p[n:min(n+piece, len(p))]
		sent, err := c.Conn.Write(next)
		n += sent
		if sent > 0 {
			c.TouchWrite()
		}
		if err != nil || n == len(p) {
			return n, err
		}
		if sent < len(next) {
			return n, io.ErrShortWrite
		}
	}
}

// begin and end mark a Write or a transfer, between which the group also reads
// the kernel. This costs two atomic additions, and shows the progress of large
// Writes, and of small ones that wait for room. begin returns false if the
// group closes the connection.
func (c *wrapped) begin() bool {
	c.use.begin()
	return c.state.Load()&expired == 0
}

func (c *wrapped) end() { c.use.end() }

// Close ends the watch and closes the inner connection, unless it is closed
// already.
func (c *wrapped) Close() error {
	switch before := c.state.Or(closed); {
	case before&closed == 0:
		c.group.Untrack(&c.Entry)
		err := c.Conn.Close()
		if before&inGrace != 0 {
			c.group.closedByOwner()
		}
		return err
	case before&expired != 0: // by the group: the owner has done its part
		return nil
	}
	return c.opError("close", net.ErrClosed)
}
