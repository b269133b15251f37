package idle

import (
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// wrappedTCP wraps a TCP connection. It has ReadFrom and WriteTo, so that files and other connections go through it without being
// copied into the program and back.
//
// Such a transfer is one call until the end, without a touch, and a slow peer may take a day for that. So the kernel tells of its
// progress; where it can't be asked, the bytes are copied instead, and touched piece by piece.
type wrappedTCP struct {
	wrappedHalves

	// sink is the socket to which the bytes of this one go in a transfer that is under way; nil: none. Written by the transfer.
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

// transfer has dst read up to most bytes from src, and returns the error of the wrapper that the group closed. to and from wrap the
// two; either may be nil.
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

// pieces lends buffers of the size of a piece.
var pieces = sync.Pool{New: func() any { return new([piece]byte) }}

// copyPieces copies by way of the wrapper's own Read or Write, which touch.
func copyPieces(w io.Writer, r io.Reader) (int64, error) {
	buffer := pieces.Get().(*[piece]byte)
	defer pieces.Put(buffer)
	return io.CopyBuffer(w, readerOnly{r}, buffer[:])
}

// readerOnly hides a WriteTo, which would not use the buffer.
type readerOnly struct{ io.Reader }
