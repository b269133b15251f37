package idle

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// pipes is a listener of net.Pipes, for tests with fake time.
type pipes struct {
	ends   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{ends: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.ends <- there
	return here
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.ends:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

// echo serves all connections until the listener ends.
func echo(l net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer c.Close()
			io.Copy(c, c)
		})
	}
}

// exchange sends a byte and waits for its echo.
func exchange(c net.Conn) error {
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

func TestAServerClosesSilentClientsAndKeepsActiveOnes(t *testing.T) {
	for _, activity := range []Source{Touch, Kernel} { // the kernel cannot read pipes: touches take its place
		synctest.Test(t, func(t *testing.T) {
			const timeout = 30 * time.Second
			g := New(Config{AllIdle: timeout, Activity: activity}, closingConns)
			l := newPipes()
			go echo(NewListener(l, g))
			talking, silent := l.dial(), l.dial()
			gone := make(chan time.Duration, 1)
			start := time.Now()
			go func() {
				_, _ = silent.Read(make([]byte, 1))
				gone <- time.Since(start)
			}()
			for range 100 {
				time.Sleep(timeout - time.Second)
				fatal.If(t, exchange(talking))
			}
			if took := <-gone; took < timeout || took > timeout+2*timeout/64 {
				t.Errorf("the silent one went after %v", took)
			}
			if g.Len() != 1 {
				t.Errorf("%d are tracked", g.Len())
			}
			l.Close()
			talking.Close()
			synctest.Wait()
			if g.Len() != 0 {
				t.Errorf("%d are tracked at the end", g.Len())
			}
		})
	}
}

func TestAListenerOfAClosedGroupAcceptsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, closingConns)
		l := newPipes()
		watched := NewListener(l, g)
		g.Close()
		go func() {
			if _, err := l.dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the peer sees %v", err)
			}
		}()
		if c, err := watched.Accept(); c != nil || !errors.Is(err, ErrClosed) {
			t.Errorf("%v, %v", c, err)
		}
		watched.Close()
		if _, err := watched.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener's own error: %v", err)
		}
		if watched.Addr() == nil {
			t.Error("no address")
		}
	})
}

func TestAPingThatIsBlockedOnAFullSocketDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 10 * time.Second
		g := New(Config{PingEvery: every, MaxMissed: 3, Jitter: -1, Workers: 2}, func(c net.Conn, r Reason) Verdict {
			if r != Ping {
				return Close()
			}
			_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
			if _, err := c.Write([]byte("ping")); err != nil {
				return Close()
			}
			return Keep()
		})
		start := time.Now()
		_, deaf := piped(t, g)
		here, there := piped(t, g)
		for n := range 20 {
			fatal.If(t, errOf(io.ReadFull(there, make([]byte, 4))))
			here.(interface{ Pong() }).Pong()
			if late := time.Since(start) - time.Duration(n+1)*every; late < 0 || late > time.Duration(n+1)*2*every/64 {
				t.Fatalf("ping %d came %v late", n, late)
			}
		}
		if n, err := deaf.Read(make([]byte, 4)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("the deaf one: %d bytes, %v", n, err)
		}
	})
}
