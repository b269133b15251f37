package idle

import (
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// wrappedTCP wraps a TCP connection with ReadFrom and WriteTo, so that files
// and other connections go through it without a copy into the program.
//
// Such a transfer is one call without a touch, and with a slow peer it may take
// a day, so the kernel reports its progress. If the kernel cannot be read, the
// bytes are copied instead, with a touch for each piece.
type wrappedTCP struct {
	wrappedHalves

	// sink is the socket to which a transfer under way sends the bytes of this
	// connection, or nil. Transfers write it.
	sink atomic.Pointer[syscall.RawConn]
}

// forwardsTo implements forwarder.
func (c *wrappedTCP) forwardsTo() syscall.RawConn {
	if sink := c.sink.Load(); sink != nil {
		return *sink
	}
	return nil
}

// ReadFrom implements io.ReaderFrom.
func (c *wrappedTCP) ReadFrom(r io.Reader) (n int64, err error) {
	source, most := r, int64(math.MaxInt64)
	limited, isLimited := r.(*io.LimitedReader)
	if isLimited {
		source, most = limited.R, limited.N
	}
	from, isOurs := source.(*wrappedTCP)
	if isOurs && from.judged {
		source = from.Conn
	}
	if _, inKernel := source.(syscall.Conn); !inKernel || !c.judged {
		return copyPieces(&c.wrapped, r)
	}
	n, err = transfer(c.Conn.(*net.TCPConn), source, most, c, from)
	if isLimited {
		limited.N -= n
	}
	return n, err
}

// WriteTo implements io.WriterTo.
func (c *wrappedTCP) WriteTo(w io.Writer) (int64, error) {
	if c.judged {
		switch w := w.(type) {
		case *wrappedTCP:
			return w.ReadFrom(c)
		case fileOrSocket:
			return transfer(w, c.Conn, math.MaxInt64, nil, c)
		}
	}
	return copyPieces(w, &c.wrapped)
}

type fileOrSocket interface {
	io.ReaderFrom
	syscall.Conn
}

// transfer copies up to most bytes from src to dst. to and from wrap dst and
// src, and either may be nil. If the group closed a wrapper, transfer returns
// the error of that wrapper.
func transfer(dst fileOrSocket, src io.Reader, most int64, to, from *wrappedTCP) (n int64, err error) {
	for _, c := range [...]*wrappedTCP{to, from} {
		if c == nil {
			continue
		}
		defer c.end()
		if !c.begin() {
			return 0, c.expiredError("readfrom")
		}
	}
	if raw, err := dst.SyscallConn(); err == nil && from != nil {
		from.sink.Store(&raw)
		defer from.sink.Store(nil)
	}
	n, err = dst.ReadFrom(&io.LimitedReader{R: src, N: most})
	if to != nil {
		if n > 0 {
			to.TouchWrite()
		}
		err = to.explain("readfrom", err)
	}
	if from != nil {
		if n > 0 {
			from.TouchRead()
		}
		err = from.explain("writeto", err)
	}
	return n, err
}

// pieces is a pool of buffers of the size of a piece.
var pieces = sync.Pool{New: func() any { return new([piece]byte) }}

// copyPieces copies with the wrapper's own Read or Write, which touch.
func copyPieces(w io.Writer, r io.Reader) (int64, error) {
	buffer := pieces.Get().(*[piece]byte)
	defer pieces.Put(buffer)
	return io.CopyBuffer(w, readerOnly{r}, buffer[:])
}

// readerOnly hides WriteTo, which would not use the buffer.
type readerOnly struct{ io.Reader }
