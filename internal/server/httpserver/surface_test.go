package httpserver

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// from is a connection from a given address.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.addr), Port: 1} }

// dialFrom returns the client's end of a connection from an address.
func (p *pipes) dialFrom(addr string) net.Conn {
	ours, theirs := net.Pipe()
	p.dialled <- from{theirs, addr}
	return ours
}

// At the bound of one address, or of one IPv6 network, a new connection ends the
// oldest silent one. Connections of other addresses, those that have sent
// something, and authenticated ones stay open.
func TestSilentConnectionsOfOneAddressAreBounded(t *testing.T) {
	inFakeTime(t, 4*maxUnauthenticated, func(t *testing.T, b *testServer) {
		ended := func(c net.Conn) <-chan struct{} { return (&peer{c, t, bufio.NewReader(c)}).ended() }
		known, speaks := b.dialFrom("192.0.2.1"), b.dialFrom("192.0.2.1")
		go func() { _, _ = io.WriteString(known, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
		go func() { _, _ = io.WriteString(speaks, "GET / HT") }()
		kept := []<-chan struct{}{ended(known), ended(speaks), ended(b.dialFrom("192.0.2.2"))}
		synctest.Wait()
		var ends []<-chan struct{}
		for range maxUnauthenticated + 10 {
			ends = append(ends, ended(b.dialFrom("192.0.2.1")))
		}
		synctest.Wait()
		for i, end := range ends {
			if closed := isOver(end); closed != (i < 11) {
				t.Errorf("silent connection %d: closed %v", i, closed)
			}
		}
		for i, end := range kept {
			if isOver(end) {
				t.Errorf("connection %d of those that must stay was closed", i)
			}
		}
		late := b.dialFrom("192.0.2.1")
		if (&peer{late, t, bufio.NewReader(late)}).get().Get("Date") == "" {
			t.Error("a client behind silent connections gets no reply")
		}
		var six []<-chan struct{}
		for i := range maxUnauthenticated + 1 {
			six = append(six, ended(b.dialFrom("2001:db8::"+string("0123456789abcdef"[i%16]))))
		}
		synctest.Wait()
		if !isOver(six[0]) {
			t.Error("a network of IPv6 has more unauthenticated connections than one address may have")
		}
		b.conns.exempt = func(a netip.Addr) bool { return a.String() == "192.0.2.9" }
		var proxied []<-chan struct{}
		for range maxUnauthenticated + 10 {
			proxied = append(proxied, ended(b.dialFrom("192.0.2.9")))
		}
		synctest.Wait()
		if isOver(proxied[0]) {
			t.Error("connections of a trusted proxy are bounded as one address")
		}
	})
}

// frames is an HTTP/2 client that may break the protocol.
type frames struct {
	*http2.Framer
	t    *testing.T
	conn net.Conn
	next uint32
	goes <-chan struct{} // closed when the server has closed the connection
	ends chan uint32     // streams that the server ended early
}

// startHTTP2 begins HTTP/2 on a connection, with a window for each stream.
func startHTTP2(t *testing.T, conn net.Conn, window uint32) *frames {
	gone := make(chan struct{})
	f := &frames{http2.NewFramer(conn, conn), t, conn, 1, gone, make(chan uint32, 1000)}
	go func() {
		defer close(gone)
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.RSTStreamFrame:
				f.ends <- frame.StreamID
			case *http2.SettingsFrame:
				if v, ok := frame.Value(http2.SettingMaxConcurrentStreams); ok && v != maxStreams {
					t.Errorf("%d streams may be open", v)
				}
			}
		}
	}()
	_, _ = io.WriteString(conn, http2.ClientPreface)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	return f
}

// get begins a request on a new stream.
func (f *frames) get(path string) (stream uint32, err error) {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "localhost"}, {":path", path}} {
		_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	stream = f.next
	f.next += 2
	return stream, f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
}

// clearHTTP2 allows HTTP/2 without TLS on srv, for tests.
func clearHTTP2(srv *http.Server) {
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
}

// A reply that the client does not accept ends after 30 seconds: over HTTP/2
// with a window of 0, and over HTTP/1 to a client that does not read. A reply
// that the client reads slowly continues.
func TestAReplyThatIsNotReadEnds(t *testing.T) {
	inFakeTime(t, 10, func(t *testing.T, b *testServer) {
		b.srv.WriteTimeout = replyTimeout
		kept := memstore.New(memstore.Config{})
		var changes []task.Change
		for i := range 200 {
			spec := task.DefaultSpec()
			spec.Namespace, spec.ID, spec.Name = task.DefaultNamespace, task.NewID(task.Millis(i+1)), string(rune('a'+i%26))+time.Duration(i).String()
			spec.Request = task.Request{URL: "http://example.com/", Method: "POST", BodyKind: task.TextBody, Body: bytes.Repeat([]byte("x"), 2000), BodySize: 2000}
			spec.When.Delay, spec.When.Relative = time.Hour, true
			changes = append(changes, task.Create{Spec: spec})
		}
		replies, err := kept.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(changes))
		for _, r := range replies {
			if err == nil {
				err = r.Err
			}
		}
		fatal.If(t, err)
		b.srv.Handler = b.conns.markLastReplies(api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, kept))
		const path = "/v1/tasks?limit=1000&include=body"
		began := time.Now()
		two := startHTTP2(t, b.dialFrom("192.0.2.1"), 0)
		const lists = 1 // a namespace may run three at once
		for range lists {
			_, _ = two.get(path)
		}
		one := b.dialFrom("192.0.2.1")
		_, _ = io.WriteString(one, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		slow := b.dialFrom("192.0.2.1")
		_, _ = io.WriteString(slow, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		whole := make(chan int)
		go func() {
			n, buf := 0, make([]byte, 64<<10)
			for {
				got, err := slow.Read(buf)
				if n += got; err != nil {
					whole <- n
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		for range lists {
			<-two.ends
		}
		if d := time.Since(began); d < 30*time.Second || d > 32*time.Second {
			t.Errorf("streams with a window of 0 ended after %v", d)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n, _ := io.Copy(io.Discard, one); n > 0 {
			t.Errorf("%d bytes came after 32 s", n)
		}
		if n := <-whole; n < 400_000 {
			t.Errorf("a client that takes some all the time got %d bytes", n)
		}
		two.conn.Close()
	})
}

func TestAnUnauthenticatedClientThatSendsTooMuchIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &http.Server{ReadHeaderTimeout: time.Minute}
		conns := watchConnections(server, 10, time.Hour)
		defer conns.close()
		conns.slots <- struct{}{}
		theirs, ours := net.Pipe()
		client := conns.take(ours)
		defer client.Close()
		go func() {
			for { // frames, as many as fit
				if _, err := theirs.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		}()
		read := func(bytes int64) time.Duration {
			began := time.Now()
			if _, err := io.CopyN(io.Discard, client, bytes); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if took := read(sentBurst); took > 0 {
			t.Errorf("a first request took %v", took)
		}
		if took := read(10 * sentRate); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("a read that should take 10 s took %v", took)
		}
		time.AfterFunc(time.Second/2, client.markAuthenticated)
		if took := read(100 * sentRate); took > time.Second {
			t.Errorf("it was let in after half a second, and waited %v", took)
		}
	})
}
