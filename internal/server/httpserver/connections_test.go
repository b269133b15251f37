package httpserver

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
)

// pipes is a listener for connections within this process, so that time can be
// fake.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// peer is the client's end of a connection.
type peer struct {
	net.Conn
	t    *testing.T
	read *bufio.Reader
}

func (p *pipes) dial(t *testing.T) *peer {
	ours, theirs := net.Pipe()
	p.dialled <- theirs
	return &peer{ours, t, bufio.NewReader(ours)}
}

// get sends a request and returns the reply's header.
func (p *peer) get() http.Header {
	p.t.Helper()
	p.ask()
	return p.answer()
}

func (p *peer) ask() {
	p.t.Helper()
	if _, err := io.WriteString(p, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		p.t.Errorf("send a request: %v", err)
	}
}

func (p *peer) answer() http.Header {
	p.t.Helper()
	reply, err := http.ReadResponse(p.read, nil)
	if err != nil {
		p.t.Errorf("read a reply: %v", err)
		return http.Header{}
	}
	_, _ = io.Copy(io.Discard, reply.Body)
	reply.Body.Close()
	if reply.Close {
		reply.Header.Set("Connection", "close") // net/http removes it
	}
	return reply.Header
}

// ended discards all replies. It closes its channel when the connection has
// ended.
func (p *peer) ended() <-chan struct{} {
	end := make(chan struct{})
	go func() {
		defer close(end)
		_, _ = io.Copy(io.Discard, p.read)
	}()
	return end
}

func isOver(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

// testServer is a server in a bubble of fake time.
type testServer struct {
	*pipes
	srv     *http.Server
	conns   *connections
	release chan struct{} // a slow request waits until it is closed
}

func inFakeTime(t *testing.T, most int, test func(*testing.T, *testServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &testServer{pipes: newPipes(), release: make(chan struct{})}
		srv := newServer(slog.New(slog.DiscardHandler))
		srv.WriteTimeout = 0 // the test decides how long a slow request takes
		clearHTTP2(srv)
		b.srv = srv
		b.conns = watchConnections(srv, most, 2*time.Minute)
		srv.Handler = b.conns.markLastReplies(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Unauthenticated") == "" {
				Authenticated(r.Context())
			}
			if r.Header.Get("Slow") != "" {
				<-b.release
			}
		}))
		served := make(chan error, 1)
		go func() { served <- srv.Serve(b.conns.listen(b.pipes)) }()
		test(t, b)
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		b.conns.close()
	})
}

// dialSlow returns a connection with a request under way.
func (b *testServer) dialSlow(t *testing.T) *peer {
	t.Helper()
	c := b.dial(t)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nSlow: 1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnlyIdleConnectionsAreClosed(t *testing.T) {
	inFakeTime(t, 10, func(t *testing.T, b *testServer) {
		idle, used, busy := b.dial(t), b.dial(t), b.dialSlow(t)
		idle.get()
		end := idle.ended()
		for range 20 {
			used.get()
			time.Sleep(119 * time.Second)
		}
		synctest.Wait()
		if !isOver(end) {
			t.Error("a connection without a request is kept")
		}
		used.get()
		close(b.release)
		if busy.answer().Get("Date") == "" {
			t.Error("a connection with a request under way was closed")
		}
	})
}

func TestASilentOrSlowHeaderEndsAConnection(t *testing.T) {
	inFakeTime(t, 10, func(t *testing.T, b *testServer) {
		silent, drips, second := b.dial(t), b.dial(t), b.dial(t)
		second.get()
		ends := map[string]<-chan struct{}{"the silent one": silent.ended(), "the dripping one": drips.ended(), "the one that drips after a request": second.ended()}
		for i := range 12 {
			for _, c := range []*peer{drips, second} {
				if i == 0 {
					_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
				}
				_, _ = fmt.Fprintf(c, "X-%d: y\r\n", i)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		for name, end := range ends {
			if !isOver(end) {
				t.Errorf("%s is kept", name)
			}
		}
	})
}

func TestAnOldConnectionEndsWithAMarkedReply(t *testing.T) {
	inFakeTime(t, 10, func(t *testing.T, b *testServer) {
		c := b.dial(t)
		began := time.Now()
		for c.get().Get("Connection") != "close" {
			if time.Since(began) > connAge+time.Minute {
				t.Fatal("it goes on for ever")
			}
			time.Sleep(20 * time.Second)
		}
		if age := time.Since(began); age < connAge*9/10 {
			t.Errorf("it ended at %v", age)
		}
		<-c.ended()
	})
}

// A new connection gets room at once. The server closes connections that are
// silent or send their header slowly. It keeps those with a request under way
// or with regular requests.
func TestAFullServerClosesTheLongestIdleConnectionForANewOne(t *testing.T) {
	const most = 64
	inFakeTime(t, most, func(t *testing.T, b *testServer) {
		var busy []*peer
		for range 8 {
			busy = append(busy, b.dialSlow(t))
		}
		used := b.dial(t)
		for i := range 500 {
			if used.get().Get("Connection") == "close" {
				t.Fatal("a connection in use was closed")
			}
			switch c := b.dial(t); i % 3 {
			case 0:
				c.get()
			case 1:
				_, _ = io.WriteString(c, "GET / HT")
			}
			time.Sleep(2 * evictAfter / most)
		}
		began := time.Now()
		if b.dial(t).get().Get("Date") == "" || time.Since(began) > 0 {
			t.Errorf("a newcomer waited %v", time.Since(began))
		}
		if n := b.conns.group.Len(); n > most {
			t.Errorf("%d connections are open", n)
		}
		close(b.release)
		for _, c := range busy {
			c.answer()
		}
	})
}

func TestAServerFullOfRequestsAcceptsAgainWhenOneEnds(t *testing.T) {
	inFakeTime(t, 4, func(t *testing.T, b *testServer) {
		for range 4 {
			go b.dialSlow(t).answer()
		}
		synctest.Wait()
		taken := make(chan struct{})
		go func() {
			defer close(taken)
			b.dial(t).get()
		}()
		time.Sleep(time.Minute)
		if isOver(taken) {
			t.Fatal("a fifth connection was taken: the test proves nothing")
		}
		b.release <- struct{}{}
		time.Sleep(2 * evictRetry)
		if !isOver(taken) {
			t.Error("there is still no room, though one request has ended")
		}
		close(b.release)
		synctest.Wait()
	})
}

// A refused request has a body too, which may never arrive.
func TestUnauthenticatedClientsDoNotKeepOthersOut(t *testing.T) {
	inFakeTime(t, 4, func(t *testing.T, b *testServer) {
		known := b.dialSlow(t)
		var ends []<-chan struct{}
		for range 3 {
			c := b.dial(t)
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: localhost\r\nUnauthenticated: 1\r\nContent-Length: 9\r\n\r\n")
			ends = append(ends, c.ended())
		}
		synctest.Wait()
		for range 3 {
			began := time.Now()
			if b.dial(t).get().Get("Date") == "" || time.Since(began) > evictAfter+2*evictRetry {
				t.Fatalf("a newcomer waited %v", time.Since(began))
			}
		}
		if !isOver(ends[0]) {
			t.Error("the oldest stranger is still there")
		}
		close(b.release)
		if known.answer().Get("Date") == "" {
			t.Error("an authenticated connection was closed")
		}
	})
}

func TestAStoppingServerSendsGoawayOverHTTP2(t *testing.T) {
	a := servertest.NewAuthority(t)
	n := newSecureServer(t, a, slog.New(slog.DiscardHandler), "")
	client := secureClient(t, a, func(c *tls.Config) {})
	reused := func() (again bool) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { again = i.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+n.addr+"/healthz", nil)
		fatal.If(t, err)
		reply, err := client.Do(r)
		fatal.If(t, err)
		reply.Body.Close()
		if reply.ProtoMajor != 2 {
			t.Fatal(reply.Proto)
		}
		return again
	}
	reused()
	if !reused() {
		t.Fatal("connections are not kept: the test proves nothing")
	}
	n.Leave()
	reused() // receives the GOAWAY
	for deadline := time.Now().Add(servertest.Patience); reused(); {
		if time.Now().After(deadline) {
			t.Fatal("the connection goes on")
		}
	}
}

func TestAClosedListenerEndsAnAcceptThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conns := watchConnections(new(http.Server), 1, time.Minute)
		inner := newPipes()
		l := conns.listen(inner)
		go inner.dial(t)
		c, err := l.Accept()
		fatal.If(t, err)
		failed := make(chan error)
		go func() {
			_, err := l.Accept()
			failed <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-failed; err == nil {
			t.Error("it accepted")
		}
		c.Close()
		c.Close()
		if len(conns.slots) != 0 {
			t.Errorf("%d slots are taken", len(conns.slots))
		}
		conns.close()
	})
}

// A header or body that arrives slowly has a deadline. The tests of these
// deadlines (here and in api's slow_test.go) set timeouts of their own.
func TestTheServerBoundsHeadersAndBodies(t *testing.T) {
	s := newServer(slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > HeaderTimeout || s.ReadTimeout <= 0 || s.ReadTimeout > BodyTimeout || s.MaxHeaderBytes > maxHeader {
		t.Errorf("headers end after %v, bodies after %v, %d bytes", s.ReadHeaderTimeout, s.ReadTimeout, s.MaxHeaderBytes)
	}
}
