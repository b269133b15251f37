package idle

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// httpTimeout is the timeout of the groups in these tests. httpLate is the
// allowed delay of a close.
const (
	httpTimeout = 32 * time.Second
	httpLate    = 2 * httpTimeout / 64
)

// serve runs a watched server on pipes until the test ends. Requests for /slow
// take five timeouts.
func serve(t testing.TB, g *Group[net.Conn], s *http.Server) *pipes {
	t.Helper()
	l := newPipes()
	if s.Handler == nil {
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(5 * httpTimeout)
			}
			io.WriteString(w, "done")
		})
	}
	WatchServer(s, g)
	var served sync.WaitGroup
	served.Go(func() {
		if s.TLSConfig != nil {
			_ = s.ServeTLS(l, "", "")
		} else {
			_ = s.Serve(l)
		}
	})
	t.Cleanup(func() {
		s.Close()
		served.Wait()
	})
	return l
}

// browser is a client that writes HTTP/1 itself, so that only the test decides
// when bytes go.
type browser struct {
	net.Conn
	replies *bufio.Reader
}

func newBrowser(l *pipes) *browser {
	c := l.dial()
	return &browser{c, bufio.NewReader(c)}
}

func (b *browser) get(t testing.TB, path string) {
	t.Helper()
	fatal.If(t, errOf(io.WriteString(b, "GET "+path+" HTTP/1.1\r\nHost: test\r\n\r\n")))
	reply, err := http.ReadResponse(b.replies, nil)
	fatal.If(t, err)
	if body, err := io.ReadAll(reply.Body); string(body) != "done" || err != nil {
		t.Fatalf("%q, %v", body, err)
	}
}

// goneAfter waits for the end of the connection and returns the time until
// then.
func (b *browser) goneAfter(t testing.TB) time.Duration {
	t.Helper()
	start := time.Now()
	if n, err := b.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v", n, err)
	}
	return time.Since(start)
}

func TestHTTPConnectionsAreIdleBetweenRequestsAndNotInThem(t *testing.T) {
	for _, path := range []string{"/", "/slow"} {
		synctest.Test(t, func(t *testing.T) {
			g := New(Config{AllIdle: httpTimeout}, closingConns)
			b := newBrowser(serve(t, g, &http.Server{}))
			for range 10 {
				time.Sleep(httpTimeout - 1)
				b.get(t, path)
			}
			if took := b.goneAfter(t); took < httpTimeout || took > httpTimeout+httpLate {
				t.Errorf("%s: gone %v after the last reply", path, took)
			}
			synctest.Wait()
			if g.Len() != 0 {
				t.Errorf("%d are tracked", g.Len())
			}
		})
	}
}

func TestAnHTTPClientWithoutARequestIsClosedAfterTheHandshakeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: time.Hour, Handshake: httpTimeout}, closingConns)
		l := serve(t, g, &http.Server{})
		asking := newBrowser(l)
		asking.get(t, "/slow") // longer than the limit, but it began in time
		if took := newBrowser(l).goneAfter(t); took < httpTimeout || took > httpTimeout+httpLate {
			t.Errorf("gone after %v", took)
		}
		asking.get(t, "/")
	})
}

func TestAgeAndEvictionWaitForTheEndOfARequest(t *testing.T) {
	for what, end := range map[string]func(*Group[net.Conn]){
		"age":      func(*Group[net.Conn]) {},
		"eviction": func(g *Group[net.Conn]) { g.EvictIdlest(1) },
		"drain":    func(g *Group[net.Conn]) { _ = g.Drain(context.Background(), 0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			config := Config{AllIdle: Never, Jitter: -1}
			if what == "age" {
				config.MaxAge = httpTimeout
			}
			g := New(config, closingConns)
			b := newBrowser(serve(t, g, &http.Server{}))
			start := time.Now()
			ended := make(chan struct{})
			go func() {
				time.Sleep(httpTimeout)
				end(g)
				close(ended)
			}()
			b.get(t, "/slow")
			if took := time.Since(start); took != 5*httpTimeout {
				t.Errorf("%s: a reply after %v", what, took)
			}
			if what == "eviction" { // a busy connection is not evicted
				synctest.Wait()
				end(g)
			}
			if took := b.goneAfter(t); took > httpLate {
				t.Errorf("%s: gone %v after the reply", what, took)
			}
			<-ended
		})
	}
}

func readsFully(r io.Reader, p []byte) bool {
	_, err := io.ReadFull(r, p)
	return err == nil
}

func TestAnExistingHookIsCalledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: httpTimeout}, closingConns)
		var mu sync.Mutex
		var states []string
		b := newBrowser(serve(t, g, &http.Server{ConnState: func(_ net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, s.String())
		}}))
		b.get(t, "/")
		b.goneAfter(t)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(states, " "); got != "new active idle closed" {
			t.Error(got)
		}
	})
}

func TestTheServersOwnTimeoutsKeepTheirMeaning(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := New(Config{AllIdle: httpTimeout}, closingConns)
			b := newBrowser(serve(t, g, &http.Server{IdleTimeout: httpTimeout / 4}))
			b.get(t, "/")
			if took := b.goneAfter(t); took != httpTimeout/4 {
				t.Errorf("gone after %v", took)
			}
			synctest.Wait()
			if g.Len() != 0 {
				t.Errorf("%d are tracked", g.Len())
			}
		})
	})
	for name, wraps := range map[string]bool{"read": false, "read, wrapped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Config{AllIdle: httpTimeout}, closingConns)
				failed := make(chan error, 1)
				s := &http.Server{ReadTimeout: httpTimeout / 4, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, err := io.Copy(io.Discard, r.Body)
					failed <- err
				})}
				l := newPipes()
				if wraps {
					go func() { _ = s.Serve(NewListener(l, g)) }()
				} else {
					WatchServer(s, g)
					go func() { _ = s.Serve(l) }()
				}
				defer s.Close()
				b := newBrowser(l)
				start := time.Now()
				io.WriteString(b, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nnot all")
				err := <-failed
				if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || isExpired(err) || took != httpTimeout/4 {
					t.Errorf("%v, after %v", err, took)
				}
			})
		})
	}
}

func TestAnHTTPConnectionIsClosedIfTheGroupIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: Never}, closingConns)
		g.Close()
		if took := newBrowser(serve(t, g, &http.Server{})).goneAfter(t); took != 0 {
			t.Errorf("gone after %v", took)
		}
	})
}

// protocols configures both sides for HTTP/2, and for HTTP/1 with TLS.
var protocols = map[string]func(*testing.T, *http.Server, *http.Transport){
	"HTTP/1.1": func(t *testing.T, s *http.Server, c *http.Transport) {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{"http/1.1"}}
		c.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	},
	"HTTP/2.0": func(t *testing.T, s *http.Server, c *http.Transport) {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
		c.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		c.ForceAttemptHTTP2 = true
	},
	"HTTP/2.0 without TLS": func(_ *testing.T, s *http.Server, c *http.Transport) {
		s.Protocols = new(http.Protocols)
		s.Protocols.SetUnencryptedHTTP2(true)
		c.Protocols = s.Protocols
	},
}

func TestEveryProtocolIsWatchedAlike(t *testing.T) {
	for name, setUp := range protocols {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Config{AllIdle: httpTimeout}, closingConns)
				s, transport := &http.Server{}, &http.Transport{}
				setUp(t, s, transport)
				scheme := "http"
				if transport.TLSClientConfig != nil {
					scheme = "https"
				}
				l := serve(t, g, s)
				dials := 0
				transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					dials++
					return l.dial(), nil
				}
				defer transport.CloseIdleConnections()
				get := func(path string) {
					reply, err := (&http.Client{Transport: transport}).Get(scheme + "://test" + path)
					fatal.If(t, err)
					defer reply.Body.Close()
					if body, err := io.ReadAll(reply.Body); string(body) != "done" || err != nil || !strings.HasPrefix(name, reply.Proto) {
						t.Errorf("%s: %q, %v", reply.Proto, body, err)
					}
				}
				for range 3 {
					time.Sleep(httpTimeout - 1)
					get("/slow")
				}
				if dials != 1 || g.Len() != 1 {
					t.Errorf("%d connections were needed, %d are tracked", dials, g.Len())
				}
				time.Sleep(httpTimeout - 1)
				if g.Len() != 1 {
					t.Error("closed before its time")
				}
				time.Sleep(httpLate + 1)
				synctest.Wait()
				if g.Len() != 0 {
					t.Error("not closed after its time")
				}
			})
		})
	}
}

func TestAConnectionThatIsHijackedWhileOnRunsIsNotClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, in := make(chan struct{}), make(chan struct{}, 9)
		g := New(Config{AllIdle: httpTimeout}, func(net.Conn, Reason) Verdict {
			in <- struct{}{}
			<-release
			return Close()
		})
		hijacked := make(chan net.Conn, 1)
		l := serve(t, g, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/ws" {
				c, _, _ := http.NewResponseController(w).Hijack()
				hijacked <- c
				return
			}
			_, _ = io.WriteString(w, "done")
		})})
		b := newBrowser(l)
		b.get(t, "/")
		<-in
		go func() { _, _ = io.WriteString(b, "GET /ws HTTP/1.1\r\nHost: x\r\n\r\n") }()
		ws := <-hijacked
		synctest.Wait()
		close(release)
		synctest.Wait()
		go func() { _, _ = io.Copy(io.Discard, b) }()
		if _, err := ws.Write([]byte("hello")); err != nil {
			t.Errorf("the hijacked connection is closed: %v", err)
		}
		_ = ws.Close()
		_ = b.Close()
	})
}

func TestARequestThatBeginsWhileOnRunsIsServedWhereTheKernelCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var once sync.Once
		release, in := make(chan struct{}), make(chan struct{})
		g := New(Config{WriteIdle: httpTimeout, Activity: Kernel}, func(net.Conn, Reason) Verdict {
			once.Do(func() { close(in); <-release })
			return Close()
		})
		b := newBrowser(serve(t, g, &http.Server{}))
		b.get(t, "/")
		<-in
		done := make(chan error)
		go func() {
			_, _ = io.WriteString(b, "GET /slow HTTP/1.1\r\nHost: test\r\n\r\n")
			_, err := http.ReadResponse(b.replies, nil)
			done <- err
		}()
		synctest.Wait()
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = b.Close()
		time.Sleep(10 * httpTimeout)
	})
}

// The handler does not read the body, and the client stops sending it.
func TestARequestWhoseUnreadBodyStopsArrivingEndsAfterItsHandler(t *testing.T) {
	for what, c := range map[string]struct {
		config Config
		end    func(*Group[net.Conn])
	}{
		"all idle": {Config{AllIdle: httpTimeout}, nil},
		"max age":  {Config{MaxAge: httpTimeout, Jitter: -1}, nil},
		"drain":    {Config{AllIdle: Never}, func(g *Group[net.Conn]) { _ = g.Drain(context.Background(), 0) }},
	} {
		for _, head := range []string{"Content-Length: 10\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nabc"} {
			synctest.Test(t, func(t *testing.T) {
				g := New(c.config, closingConns)
				b := newBrowser(serve(t, g, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
				})}))
				fatal.If(t, errOf(io.WriteString(b, "POST / HTTP/1.1\r\nHost: test\r\n"+head)))
				synctest.Wait() // the request has begun, so a drain does not end it
				if c.end != nil {
					go c.end(g)
				}
				begun := time.Now()
				_ = b.SetReadDeadline(begun.Add(10 * httpTimeout))
				reply, err := http.ReadResponse(b.replies, nil)
				if err != nil || reply.StatusCode != http.StatusRequestEntityTooLarge {
					t.Fatalf("%s: %v, %v", what, reply, err)
				}
				if took := time.Since(begun) + b.goneAfter(t); took > unreadWait+time.Second {
					t.Errorf("%s, %q: gone after %v", what, head, took)
				}
				synctest.Wait()
				if g.Len() != 0 {
					t.Errorf("%s: %d are tracked", what, g.Len())
				}
			})
		}
	}
}

// After the limit, the rest of a body must not be read as a request: behind a
// proxy that shares connections, it would be a request of another client.
func TestTheRestOfABodyIsNeverARequest(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := New(Config{AllIdle: time.Hour}, closingConns)
			called := make(chan string, 2)
			b := newBrowser(serve(t, g, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				called <- r.URL.Path
				_ = http.NewResponseController(w).EnableFullDuplex() // then net/http ignores errors of the rest
				if panics {
					panic(http.ErrAbortHandler)
				}
			})}))
			go io.WriteString(b, "POST /first HTTP/1.1\r\nHost: test\r\nContent-Length: 37\r\n\r\nab")
			begun := time.Now()
			go io.Copy(io.Discard, b)
			time.Sleep(unreadWait + time.Second)
			go io.WriteString(b, "GET /second HTTP/1.1\r\nHost: test\r\n\r\n")
			time.Sleep(time.Second)
			if len(called) != 1 || g.Len() != 0 {
				t.Errorf("panics %v: after %v there were %d requests, and %d connections are tracked", panics, time.Since(begun), len(called), g.Len())
			}
			b.Close()
		})
	}
}

// The limit for an unread body must not end what follows: another request, or a
// hijacked connection.
func TestTheLimitOfAnUnreadBodyEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{AllIdle: time.Hour}, closingConns)
		taken := make(chan net.Conn, 1)
		b := newBrowser(serve(t, g, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/read":
				_, _ = io.Copy(io.Discard, r.Body)
			case "/hijack":
				c, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
				}
				taken <- c
				return
			}
			time.Sleep(4 * unreadWait)
			if err := r.Context().Err(); err != nil {
				t.Error(r.URL, err)
			}
			io.WriteString(w, "done")
		})}))
		for _, request := range []string{"POST /read", "POST /unread", "POST /read", "GET /"} {
			body := "Content-Length: 3\r\n\r\nabc"
			if request == "GET /" {
				body = "\r\n"
			}
			fatal.If(t, errOf(io.WriteString(b, request+" HTTP/1.1\r\nHost: test\r\n"+body)))
			reply, err := http.ReadResponse(b.replies, nil)
			if err != nil {
				t.Fatal(request, err)
			}
			if got, err := io.ReadAll(reply.Body); string(got) != "done" || err != nil {
				t.Fatalf("%s: %q, %v", request, got, err)
			}
			time.Sleep(4 * unreadWait)
		}
		fatal.If(t, errOf(io.WriteString(b, "POST /hijack HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\n")))
		c := <-taken
		synctest.Wait()
		if g.Len() != 0 {
			t.Errorf("%d are tracked after Hijack", g.Len())
		}
		time.Sleep(4 * unreadWait)
		go io.WriteString(b, "alive")
		if got := make([]byte, 5); !readsFully(c, got) || string(got) != "alive" {
			t.Errorf("%q", got)
		}
		c.Close()
	})
}
