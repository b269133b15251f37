package idle

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

// slowly is a peer that reads a little now and then. It is so slow that a
// sender waits longer than the timeout for room for its next Write. But some
// bytes move in each such time.
const (
	slowTimeout = 500 * time.Millisecond
	slowChunk   = 8 << 10
	slowPause   = 50 * time.Millisecond
	slowTotal   = 800 << 10 // the last 200 to 450 KB are still in buffers when the sender is done
)

// wirePair is pair with the segment size of a real network. On loopback, 64 KB
// would come at a time.
func wirePair(t testing.TB) (here, there *net.TCPConn) {
	t.Helper()
	return pairOf(t, false, false, func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1400)
		})
		return errors.Join(err, failed)
	})
}

// sendings are the ways to send slowTotal bytes to a slow peer. Each is one
// call, except the second. The test's goroutine prepares them, and each runs in
// a goroutine of its own.
var sendings = map[string]func(t *testing.T, g *Group[net.Conn], here net.Conn) func() error{
	"one Write": func(_ *testing.T, g *Group[net.Conn], here net.Conn) func() error {
		return func() error {
			_, err := NewConn(here, g).Write(make([]byte, slowTotal))
			return err
		}
	},
	"small Writes": func(_ *testing.T, g *Group[net.Conn], here net.Conn) func() error {
		return func() (err error) {
			c := NewConn(here, g)
			for n := 0; n < slowTotal && err == nil; n += 1000 {
				_, err = c.Write(make([]byte, 1000))
			}
			return err
		}
	},
	"sendfile": func(t *testing.T, g *Group[net.Conn], here net.Conn) func() error {
		name := filepath.Join(t.TempDir(), "content")
		fatal.If(t, os.WriteFile(name, make([]byte, slowTotal), 0o600))
		file := opened(t, name)
		return func() error {
			_, err := io.Copy(NewConn(here, g), file)
			return err
		}
	},
	"splice": func(t *testing.T, g *Group[net.Conn], here net.Conn) func() error {
		origin, in := wirePair(t)
		return func() error {
			go func() {
				_, _ = origin.Write(make([]byte, slowTotal))
				origin.CloseWrite()
			}()
			_, err := io.Copy(NewConn(here, g), NewConn(in, g))
			return err
		}
	},
	"TLS": func(t *testing.T, g *Group[net.Conn], here net.Conn) func() error {
		config := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
		return func() error {
			_, err := NewConn(tls.Server(here, config), g).Write(make([]byte, slowTotal))
			return err
		}
	},
}

// eachSending runs all sendings at once, in groups of both sources. there is
// the end that the peer reads.
func eachSending(t *testing.T, config Config, run func(name string, send func() error, there net.Conn)) {
	t.Helper()
	config.Resolution = 20 * time.Millisecond
	var wg sync.WaitGroup
	for _, config.Activity = range []Source{Touch, Kernel} {
		g := New(config, closingConns)
		defer g.Close()
		for name, prepare := range sendings {
			here, peer := wirePair(t)
			_ = here.SetWriteBuffer(200 << 10)
			_ = peer.SetReadBuffer(16 << 10)
			send, there := prepare(t, g, here), net.Conn(peer)
			if name == "TLS" {
				there = tls.Client(peer, &tls.Config{InsecureSkipVerify: true})
			}
			name = fmt.Sprintf("%s, activity %d", name, config.Activity)
			wg.Go(func() { run(name, send, there) })
		}
	}
	wg.Wait()
}

func TestSlowProgressOfWritesSendfileAndSpliceCounts(t *testing.T) {
	quick.Leave(t, "waits in real time")
	t.Parallel()
	eachSending(t, Config{AllIdle: slowTimeout}, func(name string, send func() error, there net.Conn) {
		sent := make(chan error, 1)
		start := time.Now()
		go func() { sent <- send() }()
		tick := time.NewTicker(slowPause)
		defer tick.Stop()
		for chunk := make([]byte, slowChunk); ; <-tick.C {
			select {
			case err := <-sent:
				if took := time.Since(start); err != nil || took < 2*slowTimeout {
					t.Errorf("%s: %v, after %v", name, err, took)
				}
				return
			default:
			}
			_, _ = io.ReadFull(there, chunk)
		}
	})
}

func TestATransferWithoutProgressIsIdle(t *testing.T) {
	t.Parallel()
	const timeout = slowTimeout / 2
	eachSending(t, Config{WriteIdle: timeout}, func(name string, send func() error, there net.Conn) {
		if secure, ok := there.(*tls.Conn); ok {
			go func() { _ = secure.Handshake() }()
		}
		start := time.Now()
		err := send()
		if took := time.Since(start); !isExpired(err) || took < timeout || took > time.Minute {
			t.Errorf("%s: %v, after %v", name, err, took)
		}
	})
}

// Bytes that are not copied into the program are not read by it. The count is
// for the whole process, so no other test may run at the same time.
func TestBetweenConnectionsNothingIsCopiedIntoTheProgram(t *testing.T) {
	const size = 16 << 20
	g := New(Config{AllIdle: time.Hour}, keeping)
	defer g.Close()
	for what, source := range map[string]func(*net.TCPConn) io.Reader{
		"wrapped":          func(c *net.TCPConn) io.Reader { return NewConn(c, g) },
		"wrapped, limited": func(c *net.TCPConn) io.Reader { return io.LimitReader(NewConn(c, g), size) },
		"bare":             func(c *net.TCPConn) io.Reader { return c },
	} {
		origin, in := pair(t)
		out, destination := pair(t)
		go func() {
			_, _ = origin.Write(make([]byte, size))
			origin.CloseWrite()
		}()
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		fatal.If(t, err)
		drained := make(chan error)
		go func() {
			_, err := io.Copy(null, NewConn(destination, g)) // also a splice
			drained <- err
		}()
		before := bytesRead(t)
		n, err := io.Copy(NewConn(out, g), source(in))
		out.Close()
		if n != size || err != nil {
			t.Errorf("%s: %d bytes, %v", what, n, err)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		null.Close()
		if read := bytesRead(t) - before; read > size/8 {
			t.Errorf("%s: the program has read %d bytes of %d", what, read, size)
		}
	}
}

// bytesRead returns the number of bytes that the process has read by read(2)
// and similar calls.
func bytesRead(t *testing.T) (n int) {
	t.Helper()
	f, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	fatal.If(t, errOf(fmt.Sscanf(string(f), "rchar: %d", &n)))
	return n
}
