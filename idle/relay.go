package idle

import (
	"io"
	"math"
	"net"
	"sync"
	"syscall"
)

// wrappedTCP wraps a TCP connection. It has ReadFrom and WriteTo, so that files and other connections go through it without being
// copied into the program and back.
//
// Such a transfer is one call until the end, or nearly: it is cut so that each part is touched. Within a part, which a slow peer may
// take a day for, the kernel tells of its progress; where it can't be asked, the bytes are copied instead, and touched piece by piece.
type wrappedTCP struct{ wrappedHalves }

// part is how many bytes go by between two touches: enough for these to cost nothing.
const part = 256 << 10

// ReadFrom implements io.ReaderFrom.
func (c *wrappedTCP) ReadFrom(r io.Reader) (n int64, err error) {
	source, most := r, int64(math.MaxInt64)
	limited, isLimited := r.(*io.LimitedReader)
	if isLimited {
		source, most = limited.R, limited.N
	}
	var from *wrapped
	if ours, ok := source.(*wrappedTCP); ok && ours.judged {
		source, from = ours.Conn, &ours.wrapped
	}
	if _, inKernel := source.(syscall.Conn); !inKernel || !c.judged {
		return copyPieces(&c.wrapped, r)
	}
	n, err = transfer(c.Conn.(*net.TCPConn), source, most, &c.wrapped, from)
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
			return transfer(w, c.Conn, math.MaxInt64, nil, &c.wrapped)
		}
	}
	return copyPieces(w, &c.wrapped)
}

type fileOrSocket interface {
	io.ReaderFrom
	syscall.Conn
}

// transfer has dst read up to most bytes from src, part by part. to and from are their wrappers; either may be nil.
func transfer(dst io.ReaderFrom, src io.Reader, most int64, to, from *wrapped) (n int64, err error) {
	for _, c := range [...]*wrapped{to, from} {
		if c == nil {
			continue
		}
		defer c.leave()
		if !c.enter() {
			return 0, c.expiredError("readfrom")
		}
	}
	next := io.LimitedReader{R: src}
	for n < most && err == nil {
		size := min(most-n, part)
		next.N = size
		var moved int64
		moved, err = dst.ReadFrom(&next)
		n += moved
		if moved > 0 && to != nil {
			to.TouchWrite()
		}
		if moved > 0 && from != nil {
			from.TouchRead()
		}
		if moved < size {
			break
		}
	}
	if to != nil {
		err = to.explain("readfrom", err)
	}
	if from != nil {
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
