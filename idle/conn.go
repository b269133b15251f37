package idle

import (
	"io"
	"net"
	"sync/atomic"
)

// NewConn tracks c and returns it with Read and Write that touch, for some nanoseconds and no allocation. The connection has also the
// methods of an Entry, NetConn, which returns c, and those of CloseRead, CloseWrite, ReadFrom and WriteTo that c has: the last two if c
// is a *net.TCPConn. The progress of a long Write, or of a transfer by ReadFrom or WriteTo, through sendfile and splice too, counts as it
// goes: on Linux by the kernel's word, and elsewhere piece by piece, so where each Write is a message of its own don't wrap. In a group with Config.Activity Kernel, connections about which
// the kernel can't be asked are watched by these touches.
//
// Close ends the watch and closes c. If the group closes the connection, Reads and Writes of the caller that are under way return at
// once, and c is closed when the caller has done so, or a second later. All their errors from then on are net.Errors with Timeout true,
// and errors.Is finds os.ErrDeadlineExceeded and net.ErrClosed in them: who reads in a loop that goes on after timeouts should ask for
// the latter. A connection over TLS is closed without a close_notify, which might block.
//
// If c can't be tracked, since the group is closed or draining, then c is closed, and the methods of what is returned fail with
// Track's error, such as ErrClosed.
func NewConn(c net.Conn, g *Group[net.Conn]) net.Conn {
	w, err := wrap(c, g)
	if err != nil {
		return refused{c, err}
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

// wrapped is what NewConn returns for connections that have nothing beyond net.Conn. The types that embed it have more.
type wrapped struct {
	net.Conn // the one below; immutable, as all above state is
	Entry

	group  *Group[net.Conn]
	judged bool // by the kernel too, while a Write or a transfer is under way: Entry.use counts them

	// cutting is full while a Write is under way, if large ones are cut into pieces: others' bytes must not come between them. It is
	// a channel, not a mutex, so that fake time goes on in a test where a Write waits for another. nil: none is cut.
	cutting chan struct{}

	// state counts the Reads under way, and has the bits below. Written by Reads, Close and expire.
	state atomic.Uint32
}

const (
	expired = 1 << 31 // the group has decided to close it
	closed  = 1 << 30 // the one below is closed, by who has set this
	inGrace = 1 << 29 // expired, and left to the caller to close for the grace
	readers = inGrace - 1

	minusOne = ^uint32(0)
)

// piece is what is sent between two touches where the kernel can't be asked.
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

// writePieces is Write where nobody but us sees how far one has come. Other Writes wait for it, as they do below.
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

// begin says that a Write or a transfer begins, and end that it has ended. Between them the group, when it looks, asks the kernel too:
// this costs two atomic additions, and sees the progress of small Writes that wait for room as well as of large ones. begin returns
// false if the group closes the connection.
func (c *wrapped) begin() bool {
	c.use.begin()
	return c.state.Load()&expired == 0
}

func (c *wrapped) end() { c.use.end() }

// Close ends the watch and closes the connection below, unless that was done.
func (c *wrapped) Close() error {
	switch before := c.state.Or(closed); {
	case before&closed == 0:
		c.group.Untrack(&c.Entry)
		err := c.Conn.Close()
		if before&inGrace != 0 {
			c.group.closedByOwner()
		}
		return err
	case before&expired != 0: // by the group: the caller has done his part
		return nil
	}
	return c.opError("close", net.ErrClosed)
}
