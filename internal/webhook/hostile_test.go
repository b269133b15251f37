package webhook

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// brief is long enough for any attempt on loopback.
const brief = 500 * time.Millisecond

// answering reads one request and then lets answer misbehave.
func answering(answer func(c net.Conn)) func(int, net.Conn) {
	return func(_ int, c net.Conn) {
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			answer(c)
		}
	}
}

// drip writes text, and then unit again and again with pauses, until the peer
// closes.
func drip(c net.Conn, text, unit string, pause time.Duration) {
	for _, err := io.WriteString(c, text); err == nil; _, err = io.WriteString(c, unit) {
		if pause > 0 {
			<-time.After(pause)
		}
	}
}

// awaitEnd returns when the peer closes.
func awaitEnd(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestAReceiverThatMisbehavesCostsOneAttemptAndNoMore(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  func(net.Conn)
		verdict task.Verdict
		status  int
		text    string // part of the error
		full    bool   // the attempt takes its whole timeout; others may do so on a busy machine
	}{
		{"never answers", awaitEnd, task.Failure, 0, "no reply within 500ms", true},
		{"drips its header", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\n", "x", 10*time.Millisecond) }, task.Failure, 0, "no reply within 500ms", true},
		{"endless header", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n", 0) }, task.Failure, 0, "longer than 64 KiB", false},
		{"one endless header line", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("a", 1000), 0) }, task.Failure, 0, "longer than 64 KiB", false},
		{"1xx flood", func(c net.Conn) { drip(c, "", "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", 0) }, task.Failure, 0, "longer than 64 KiB", false},
		{"1xx drip", func(c net.Conn) { drip(c, "", "HTTP/1.1 102 Processing\r\n\r\n", 10*time.Millisecond) }, task.Failure, 0, "no reply within 500ms", true},
		{"closes", func(c net.Conn) {}, task.Failure, 0, "closed the connection before a reply came", false},
		{"closes half", func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite(); awaitEnd(c) }, task.Failure, 0, "closed the connection before a reply came", false},
		{"closes in the header", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nX-") }, task.Failure, 0, "no readable reply", false},
		{"resets", func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, task.Failure, 0, "reset the connection", false},
		{"speaks something else", func(c net.Conn) { io.WriteString(c, "220 mail.test ESMTP\r\n") }, task.Failure, 0, "no readable reply: malformed HTTP", false},
		{"no status", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 abc\r\n\r\n") }, task.Failure, 0, "no readable reply: malformed HTTP", false},
		{"bad length", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n") }, task.Failure, 0, "no readable reply", false},
		{"switches protocols", func(c net.Conn) {
			drip(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "x", 10*time.Millisecond)
		}, task.Failure, 101, "101 Switching Protocols", false},

		// Once the status has arrived it counts, even if the rest fails.
		{"endless body", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("a", 4096), 0) }, task.Success, 200, "", false},
		{"endless body of a failure", func(c net.Conn) { drip(c, "HTTP/1.1 500 Oh\r\n\r\n", strings.Repeat("a", 4096), 0) }, task.Failure, 500, "500 Internal Server Error", false},
		{"drips its body", func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\n\r\n", "a", 10*time.Millisecond) }, task.Success, 200, "", true},
		{"drips its body of a failure", func(c net.Conn) { drip(c, "HTTP/1.1 500 Oh\r\n\r\n", "a", 10*time.Millisecond) }, task.Failure, 500, "500 Internal Server Error", true},
		{"cuts its body", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") }, task.Success, 200, "", false},
		{"broken chunks", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n") }, task.Success, 200, "", false},
		{"says more than it announced", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 500 Oh\r\n\r\n")
		}, task.Success, 200, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, answering(c.answer))
			s, d := newSender(t, Config{}), delivery(t, url, timeout(brief), body(task.TextBody, "hello"))
			began := time.Now()
			o := s.Deliver(t.Context(), d)
			took := time.Since(began)
			if o.Verdict != c.verdict || o.Status != c.status || !strings.Contains(o.Error, c.text) || (o.Error == "") != (c.text == "") {
				t.Errorf("got %+v", o)
			}
			if took > time.Minute || c.full && took < brief || o.Latency > took {
				t.Errorf("it took %v, of which %v after the connect", took, o.Latency)
			}
			if len(o.Reply) > task.MaxReplyKept || len(o.Error) > task.MaxErrorKept {
				t.Errorf("kept %d bytes of the reply, %d of the error", len(o.Reply), len(o.Error))
			}
		})
	}
}

func TestAReceiverThatDoesNotReadEndsAtTheTimeout(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	url := rawServer(t, func(int, net.Conn) { <-done })
	defer close(done)
	o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, url, timeout(brief), body(task.BinaryBody, strings.Repeat("x", task.MaxBody))))
	if o.Verdict != task.Failure || !strings.Contains(o.Error, "no reply within") {
		t.Errorf("got %+v", o)
	}
}

func TestAFailedConnectionIsExplained(t *testing.T) {
	t.Parallel()
	const closedPort = "127.0.0.1:9" // another process may have taken a port that was free before
	ok := func(http.ResponseWriter, *http.Request) {}
	secure := serveTLS(t, &tls.Config{MinVersion: tls.VersionTLS12})
	picky := serveTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12})
	plain := serve(t, ok)
	silent := rawServer(t, func(_ int, c net.Conn) { awaitEnd(c) })

	for _, c := range []struct {
		name, url string
		trusted   *httptest.Server
		within    time.Duration
		text      string
	}{
		{"closed port", "http://" + closedPort, nil, time.Minute, "cannot connect to " + closedPort + ": connection refused"},
		{"no such name", "http://nowhere.test/", nil, time.Minute, "cannot resolve nowhere.test"},
		{"unknown certificate", secure.URL, nil, time.Minute, "certificate signed by unknown authority. Pass the certificate of a private authority to the server with --receiver-ca, and restart it"},
		{"certificate of another name", strings.Replace(secure.URL, "127.0.0.1", "other.test", 1), secure, time.Minute, "other.test"},
		{"certificate asked of us", picky.URL, picky, time.Minute, "refused the handshake"},
		{"no TLS", "https" + strings.TrimPrefix(plain.URL, "http"), nil, time.Minute, "does not use TLS"},
		{"silent instead of TLS", "https" + strings.TrimPrefix(silent, "http"), nil, brief, "no connection to 127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSender(t, Config{})
			s.dialer.Resolver = names(func(name string) []netip.Addr {
				if name == "other.test." {
					return addrs("127.0.0.1")
				}
				return nil
			}).resolver()
			if c.trusted != nil {
				trust(s, c.trusted)
			}
			o := s.Deliver(t.Context(), delivery(t, c.url, timeout(c.within)))
			if o.Verdict != task.Failure || o.Status != 0 || !strings.Contains(o.Error, c.text) {
				t.Errorf("got %+v", o)
			}
		})
	}
}

// serveTLS runs a server that does not print failed handshakes.
func serveTLS(t *testing.T, cfg *tls.Config) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = cfg
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestANameThatDoesNotResolveInTimeIsAFailure(t *testing.T) {
	t.Parallel()
	s := newSender(t, Config{})
	release := make(chan struct{})
	s.dialer.Resolver = names(func(string) []netip.Addr { <-release; return nil }).resolver()
	o := s.Deliver(t.Context(), delivery(t, "http://slow.test/", timeout(brief)))
	close(release)
	if o.Verdict != task.Failure || o.Error != "no connection to slow.test:80 within 500ms" {
		t.Errorf("got %+v", o)
	}
}

func TestARefusedAttemptLeavesNoConnectionBehind(t *testing.T) {
	var open atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	closed := make(chan struct{}, 100)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	s := newSender(t, Config{})
	d := delivery(t, server.URL)
	d.Live = func() error { return fmt.Errorf("lost") }
	for range cap(closed) {
		s.Deliver(t.Context(), d)
	}
	for range cap(closed) {
		<-closed
	}
	if n := open.Load(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}
