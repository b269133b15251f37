package idle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// isExpired reports whether an error is the one that is promised after the
// group closed a connection.
func isExpired(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) && errors.Is(err, net.ErrClosed) && errors.As(err, &timeout) && timeout.Timeout()
}

func TestABlockedReadReturnsAtOnceWhenTheGroupCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, closingConns)
		here, there := piped(t, g)
		var returned time.Time
		go func() {
			if n, err := here.Read(make([]byte, 1)); n != 0 || !isExpired(err) {
				t.Errorf("%d bytes, %v", n, err)
			}
			returned = time.Now()
			_ = here.SetDeadline(time.Time{}) // this must not revive it
			for _, use := range []func([]byte) (int, error){here.Read, here.Write} {
				if n, err := use(make([]byte, 1)); n != 0 || !isExpired(err) || !time.Now().Equal(returned) {
					t.Errorf("in the grace: %d bytes, %v", n, err)
				}
			}
			time.Sleep(300 * time.Millisecond) // the clean-up
			if err := here.Close(); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		start := time.Now()
		g.EvictIdlest(1)
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if took := time.Since(start); !returned.Equal(start) || took != 300*time.Millisecond {
			t.Errorf("returned after %v, closed after %v", returned.Sub(start), took)
		}
		for _, use := range []func([]byte) (int, error){here.Read, here.Write} {
			if n, err := use(make([]byte, 1)); n != 0 || !isExpired(err) {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		time.Sleep(time.Minute) // the close after the grace time has nothing to do
	})
}

func TestABlockedWriteReturnsAtOnceWhenTheGroupCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, closingConns)
		end, _ := net.Pipe()
		inner := &blocking{Conn: end}
		here := NewConn(inner, g)
		start := time.Now()
		time.AfterFunc(time.Second, func() { g.EvictIdlest(1) })
		n, err := here.Write(make([]byte, 1))
		if took := time.Since(start); n != 0 || !isExpired(err) || took != time.Second {
			t.Errorf("%d bytes, %v, after %v", n, err, took)
		}
		if inner.closes.Load() != 0 {
			t.Error("closed before the caller could clean up")
		}
		here.Close()
	})
}

// A caller that sets a new deadline within the grace time, as servers do before
// each Read, must not delay the close.
func TestTheGraceEnds(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := New(Config{AllIdle: Never, Resolution: 10 * time.Millisecond}, closingConns)
			here, there := piped(t, g)
			inner := here.(*wrapped).Conn
			go func() {
				_, _ = here.Read(make([]byte, 1))
				if stubborn {
					_ = here.SetDeadline(time.Time{})
					_, _ = inner.Read(make([]byte, 1)) // like a Read that began just before
				}
			}()
			synctest.Wait()
			start := time.Now()
			g.EvictIdlest(1)
			_, _ = there.Read(make([]byte, 1))
			if took := time.Since(start); took < grace || took > grace+20*time.Millisecond {
				t.Errorf("stubborn %v: closed after %v", stubborn, took)
			}
		})
	}
}

func TestAConnectionWithoutBlockedCallsIsClosedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, closingConns)
		here, there := piped(t, g)
		start := time.Now()
		g.EvictIdlest(1)
		_, _ = there.Read(make([]byte, 1))
		if took := time.Since(start); took != 0 {
			t.Errorf("closed after %v", took)
		}
		if _, err := here.Read(make([]byte, 1)); !isExpired(err) {
			t.Error(err)
		}
		if err := here.Close(); err != nil {
			t.Errorf("the caller's own Close: %v", err)
		}
	})
}

func TestAnEndByThePeerStaysAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, keeping)
		here, there := piped(t, g)
		there.Close()
		here.(*wrapped).state.Or(expired) // at the same instant
		if _, err := here.(*wrapped).Conn.Read(make([]byte, 1)); !errors.Is(here.(*wrapped).explain("read", err), io.EOF) {
			t.Error(err)
		}
		g.Close()
	})
}

func TestTheCallersCloseEndsTheWatchAndASecondOneFails(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, keeping)
	s := &scripted{network: "unix"}
	w := NewConn(s, g)
	if g.Len() != 1 {
		t.Fatal("not tracked")
	}
	if err := w.Close(); err != nil || g.Len() != 0 {
		t.Errorf("%v, %d are tracked", err, g.Len())
	}
	if err := w.Close(); !errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the second Close: %v", err)
	}
	if s.closes != 1 {
		t.Errorf("closed %d times", s.closes)
	}
}

// The owner, the group and the end of its grace time come in every order. Some
// owners are blocked in a Read, and some close twice.
func TestEachConnectionIsClosedOnce(t *testing.T) {
	var asked atomic.Int64
	g := New(Config{AllIdle: Never, Resolution: time.Millisecond}, func(c net.Conn, _ Reason) Verdict {
		asked.Add(1)
		if rand.IntN(8) == 0 {
			c.Close()
		}
		if rand.IntN(3) == 0 {
			return Keep()
		}
		return Close()
	})
	var wg sync.WaitGroup
	const many = 2000
	conns := make([]*blocking, many)
	for i := range conns {
		end, there := net.Pipe()
		conns[i] = &blocking{Conn: end}
		c := NewConn(conns[i], g)
		r := rand.New(rand.NewPCG(uint64(i), 31))
		if r.IntN(2) == 0 {
			wg.Go(func() { // ends with the connection
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("read something")
				}
			})
		}
		wg.Go(func() {
			for range r.IntN(3) {
				if r.IntN(2) == 0 {
					g.EvictIdlest(3)
				} else {
					c.Close()
				}
			}
			c.Close()
			there.Close()
		})
	}
	wg.Wait()
	await(t, "the group has forgotten all", func() bool { return g.Len() == 0 })
	for i, c := range conns {
		if n := c.closes.Load(); n != 1 {
			t.Errorf("connection %d was closed %d times", i, n)
		}
	}
	if asked.Load() == 0 {
		t.Error("the group never asked")
	}
}

// blocking counts the Closes of the connection below it.
type blocking struct {
	net.Conn
	closes atomic.Int32
}

func (b *blocking) Close() error {
	b.closes.Add(1)
	return b.Conn.Close()
}

func TestAConnectionThatCannotBeTrackedIsClosedWithTheReason(t *testing.T) {
	g := New(Config{AllIdle: Never}, closingConns)
	g.Close()
	end, there := net.Pipe()
	c := NewConn(end, g)
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the peer sees %v", err)
	}
	var errs []error
	_, err := c.Read(make([]byte, 1))
	errs = append(errs, err)
	_, err = c.Write(make([]byte, 1))
	errs = append(errs, err, c.Close(), c.SetDeadline(time.Now()), c.SetReadDeadline(time.Now()), c.SetWriteDeadline(time.Now()))
	for i, err := range errs {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("method %d: %v", i, err)
		}
	}
	if c.LocalAddr() == nil || c.RemoteAddr() == nil {
		t.Error("no addresses")
	}
}

// stream is one of several streams on a connection, to which its NetConn leads.
type stream struct {
	*scripted
	session net.Conn
}

func (s stream) NetConn() net.Conn { return s.session }

func TestTheConnectionOfSeveralStreamsIsNotClosedWithOneOfThem(t *testing.T) {
	session, one, other := &scripted{}, &scripted{}, &scripted{}
	g := New(Config{AllIdle: Never}, func(io.Closer, Reason) Verdict { return Close() })
	defer g.Close()
	track(t, g, io.Closer(stream{one, session}), new(Entry))
	g.EvictIdlest(1)
	await(t, "it is closed", func() bool { return one.closedTimes() > 0 })
	NewConn(stream{other, session}, New(Config{AllIdle: Never}, closingConns)).(*wrapped).kill()
	if other.closedTimes() != 1 || session.closedTimes() != 0 {
		t.Errorf("closed %d times, and what it shares %d times", other.closedTimes(), session.closedTimes())
	}
}

// full returns the server's end of a TLS connection. Its peer has done the
// handshake and reads no more, and its buffers are full.
func full(t *testing.T) *tls.Conn {
	t.Helper()
	here, there := pair(t)
	secure := tls.Server(here, &tls.Config{Certificates: []tls.Certificate{certificate(t)}})
	client := tls.Client(there, &tls.Config{InsecureSkipVerify: true})
	shaken := make(chan error)
	go func() { shaken <- client.Handshake() }()
	fatal.If(t, secure.Handshake())
	fatal.If(t, <-shaken)
	for size := 1 << 20; size > 0; size /= 2 { // first large writes, then smaller ones that still fit
		_ = here.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
		for err := error(nil); err == nil; _, err = here.Write(make([]byte, size)) {
		}
	}
	_ = here.SetWriteDeadline(time.Time{})
	return secure
}

func TestAFullTLSConnectionIsClosedWithoutWaitingForItsPeer(t *testing.T) {
	t.Parallel()
	for what, begin := range map[string]func(*Group[net.Conn], *tls.Conn) error{
		"wrapped": func(g *Group[net.Conn], c *tls.Conn) error { NewConn(c, g); return nil },
		"tracked": func(g *Group[net.Conn], c *tls.Conn) error { return g.Track(c, new(Entry)) },
	} {
		secure := full(t)
		g := New(Config{AllIdle: Never, Workers: 1, Resolution: time.Millisecond}, closingConns)
		fatal.If(t, begin(g, secure))
		start := time.Now()
		g.EvictIdlest(1)
		await(t, "the first is closed", func() bool { return g.Len() == 0 && secure.NetConn().SetDeadline(time.Time{}) != nil })
		next := &scripted{network: "unix"}
		NewConn(next, g)
		g.EvictIdlest(1)
		await(t, "the next is closed", func() bool { return next.closedTimes() > 0 })
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%s: it took %v", what, took)
		}
	}
}

// certificate returns a self-signed certificate, which clients must not verify.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	fatal.If(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * 365 * time.Hour)}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	fatal.If(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
