package idle

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func closingConns(net.Conn, Reason) Verdict { return Close() }

func keeping(net.Conn, Reason) Verdict { return Keep() }

// piped returns both ends of a net.Pipe, the first one wrapped.
func piped(t testing.TB, g *Group[net.Conn]) (here, there net.Conn) {
	t.Helper()
	here, there = net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	return NewConn(here, g), there
}

func TestAWrapperHasTheMethodsOfItsConnection(t *testing.T) {
	g := New(Config{AllIdle: Never}, keeping)
	defer g.Close()
	tcp, _ := pair(t)
	pipe, other := net.Pipe()
	defer other.Close()
	for _, c := range []struct {
		name                          string
		of                            net.Conn
		closeWrite, closeRead, copies bool
	}{
		{"pipe", pipe, false, false, false},
		{"TLS", tls.Server(pipe, &tls.Config{}), true, false, false},
		{"unix", unixConn(t), true, true, false},
		{"TCP", tcp, true, true, true},
		{"TCP, twice", NewConn(tcp, g), true, true, false},
	} {
		w := NewConn(c.of, g)
		_, closeWrite := w.(interface{ CloseWrite() error })
		_, closeRead := w.(interface{ CloseRead() error })
		_, readFrom := w.(io.ReaderFrom)
		_, writeTo := w.(io.WriterTo)
		if closeWrite != c.closeWrite || closeRead != c.closeRead || readFrom != c.copies || writeTo != c.copies {
			t.Errorf("%s: CloseWrite %v, CloseRead %v, ReadFrom %v, WriteTo %v", c.name, closeWrite, closeRead, readFrom, writeTo)
		}
		if w.(interface{ NetConn() net.Conn }).NetConn() != c.of {
			t.Errorf("%s: NetConn returns another", c.name)
		}
		w.Close()
	}
}

func unixConn(t testing.TB) net.Conn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	fatal.If(t, err)
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	fatal.If(t, err)
	return c
}

func TestReadsAndWritesKeepAWrappedConnection(t *testing.T) {
	const timeout = 10 * time.Second
	one := []byte("x")
	for _, c := range []struct {
		name     string
		config   Config
		exchange func(here, there net.Conn) (int, error)
	}{
		{"read", Config{ReadIdle: timeout}, func(here, there net.Conn) (int, error) {
			go func() { _, _ = there.Write(one) }()
			return here.Read(make([]byte, 1))
		}},
		{"write", Config{WriteIdle: timeout}, func(here, there net.Conn) (int, error) {
			go func() { _, _ = there.Read(make([]byte, 1)) }()
			return here.Write(one)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(c.config, closingConns)
				here, there := piped(t, g)
				for range 50 {
					time.Sleep(timeout - 1)
					if n, err := c.exchange(here, there); n != 1 || err != nil {
						t.Fatal(n, err)
					}
				}
				start := time.Now()
				_, err := there.Read(make([]byte, 1)) // until the group closes it
				if took := time.Since(start); !errors.Is(err, io.EOF) || took < timeout || took > timeout+2*timeout/64 {
					t.Errorf("%v, %v after the last use", err, took)
				}
			})
		})
	}
}

func TestEmptyReadsDoNotKeepAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: 10 * time.Second}, closingConns)
		here, there := piped(t, g)
		go func() {
			var err error
			for err = nil; !isExpired(err); _, err = here.Read(make([]byte, 1)) {
				_ = here.SetReadDeadline(time.Now().Add(time.Second))
			}
			here.Close()
		}()
		start := time.Now()
		_, _ = there.Read(make([]byte, 1))
		if took := time.Since(start); took > 10*time.Second+2*10*time.Second/64 {
			t.Errorf("closed after %v", took)
		}
	})
}

// On a pipe, only the wrapper sees the progress of a Write.
func TestASlowLargeWriteCountsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		g := New(Config{WriteIdle: timeout}, closingConns)
		here, there := piped(t, g)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 20 {
				time.Sleep(timeout - time.Second)
				if _, err := io.ReadFull(there, make([]byte, piece)); err != nil {
					t.Error(err)
				}
			}
		})
		if n, err := here.Write(make([]byte, 20*piece)); n != 20*piece || err != nil {
			t.Errorf("%d bytes in, %v", n, err)
		}
		wg.Wait()
	})
}

func TestAWriteWithoutProgressDoesNotCountAsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		g := New(Config{WriteIdle: timeout}, closingConns)
		here, there := piped(t, g)
		go func() { _, _ = io.ReadFull(there, make([]byte, 3*piece)) }()
		start := time.Now()
		n, err := here.Write(make([]byte, 20*piece))
		took := time.Since(start)
		if n != 3*piece || !isExpired(err) || took < timeout || took > timeout+2*timeout/64 {
			t.Errorf("%d bytes in, %v, after %v", n, err, took)
		}
	})
}

func TestTheBytesOfConcurrentWritesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, keeping)
		s := &scripted{network: "unix", pause: time.Millisecond}
		c := NewConn(s, g)
		var wg sync.WaitGroup
		for _, more := range []int{1, 2, 3, 4} {
			wg.Go(func() {
				if n, err := c.Write(make([]byte, 3*piece+more)); n != 3*piece+more || err != nil {
					t.Error(n, err)
				}
			})
		}
		wg.Wait()
		c.Close()
		last := 0 // the length of the last piece shows which Write it is from
		for i, n := range s.writes {
			if last++; n < piece {
				if last != 4 {
					t.Errorf("write %d was the piece %d of one of four: %v", i, last, s.writes)
				}
				last = 0
			}
		}
	})
}

// scripted is a connection that lists its Writes and counts its Closes.
type scripted struct {
	net.Conn
	network string
	mu      sync.Mutex
	writes  []int
	closes  int
	accepts int           // bytes that a Write accepts; 0: all
	pause   time.Duration // duration of a Write
}

func (s *scripted) LocalAddr() net.Addr  { return &net.UnixAddr{Net: s.network} }
func (s *scripted) RemoteAddr() net.Addr { return nil }

func (s *scripted) Write(p []byte) (int, error) {
	if s.pause > 0 {
		time.Sleep(s.pause)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, len(p))
	if s.accepts > 0 {
		return min(len(p), s.accepts), nil
	}
	return len(p), nil
}

func (s *scripted) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closes++
	return nil
}

func (s *scripted) closedTimes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closes
}

func TestOnlyAStreamIsCutIntoPieces(t *testing.T) {
	g := New(Config{AllIdle: Never}, keeping)
	defer g.Close()
	for network, want := range map[string]int{"unix": 3, "tcp": 3, "pipe": 3, "unixgram": 1, "unixpacket": 1, "udp": 1, "websocket": 1} {
		s := &scripted{network: network}
		w := NewConn(s, g)
		if n, err := w.Write(make([]byte, 2*piece+1)); n != 2*piece+1 || err != nil {
			t.Errorf("%s: %d bytes, %v", network, n, err)
		}
		if len(s.writes) != want {
			t.Errorf("%s: written as %v", network, s.writes)
		}
		w.Write(nil)
		if last := s.writes[len(s.writes)-1]; last != 0 {
			t.Errorf("%s: an empty Write was not passed on", network)
		}
	}
}

func TestAShortWriteIsAnError(t *testing.T) {
	g := New(Config{AllIdle: Never}, keeping)
	defer g.Close()
	w := NewConn(&scripted{network: "unix", accepts: 10}, g)
	if n, err := w.Write(make([]byte, 2*piece)); n != 10 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestUseOfAWrapperDoesNotAllocate(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, keeping)
	defer g.Close()
	here, there := pair(t)
	w, b := NewConn(here, g), make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		w.Write(b)
		_, _ = there.Read(b)
		_, _ = there.Write(b)
		_, _ = w.Read(b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// still is a connection whose calls cost nothing.
type still struct{ scripted }

func (*still) Read(p []byte) (int, error)  { return len(p), nil }
func (*still) Write(p []byte) (int, error) { return len(p), nil }

// docs/idle.md has the result of this and of BenchmarkAges.
func BenchmarkWrapperAlone(b *testing.B) {
	g := New(Config{AllIdle: time.Hour}, keeping)
	defer g.Close()
	w, p := NewConn(&still{}, g), make([]byte, 64)
	for name, call := range map[string]func([]byte) (int, error){"Read": w.Read, "Write": w.Write} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = call(p)
			}
		})
	}
}
