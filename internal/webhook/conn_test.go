package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// The receiver decides when it closes a connection, and an attempt on a closed
// one would fail. If it sends a second reply, that must not answer the next
// request.
func TestAConnectionThatTheReceiverHasClosedIsNotUsed(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	other := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer other.Close()
	for _, secure := range []bool{false, true} {
		for name, leave := range map[string]func(c net.Conn, all *together){
			"closed": func(c net.Conn, _ *together) { io.WriteString(c, ok); c.Close() },
			"reset": func(c net.Conn, all *together) {
				io.WriteString(c, ok)
				all.flush()
				_ = all.Conn.(*net.TCPConn).SetLinger(0)
				all.Conn.Close()
			},
			"half closed": func(c net.Conn, all *together) {
				io.WriteString(c, ok)
				all.flush()
				_ = all.Conn.(*net.TCPConn).CloseWrite()
			},
			"a second reply":         func(c net.Conn, _ *together) { io.WriteString(c, ok); io.WriteString(c, ok) },
			"a second reply at once": func(c net.Conn, _ *together) { io.WriteString(c, ok+ok) },
			"a message before closing": func(c net.Conn, _ *together) {
				io.WriteString(c, ok)
				io.WriteString(c, "HTTP/1.1 408 Timeout\r\n\r\n")
				c.Close()
			},
		} {
			left := make(chan struct{})
			var second atomic.Bool // the request was read
			url := rawServer(t, func(n int, raw net.Conn) {
				all := &together{Conn: raw}
				var c net.Conn = all
				if secure {
					c = tls.Server(all, other.TLS)
				}
				in := bufio.NewReader(c)
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				if n > 1 {
					second.Store(true)
					io.WriteString(c, ok)
					awaitEnd(c)
					return
				}
				all.begin()
				leave(c, all)
				all.flush()
				close(left)
				if _, err := http.ReadRequest(in); err == nil {
					t.Errorf("%s, TLS %v: the connection is used again", name, secure)
				}
			})
			s := newSender(t, Config{})
			trust(s, other)
			if secure {
				url = "https" + strings.TrimPrefix(url, "http")
			}
			for i := range 2 {
				if o := s.Deliver(t.Context(), delivery(t, url)); o.Verdict != task.Success {
					t.Errorf("%s, TLS %v: attempt %d: %+v", name, secure, i+1, o)
				}
				<-left
			}
			if !second.Load() {
				t.Errorf("%s, TLS %v: the second request has an answer and was not read", name, secure)
			}
		}
	}
}

// together is a connection that sends several writes at once.
type together struct {
	net.Conn
	waits bool
	bytes []byte
}

func (c *together) begin() { c.waits = true }

func (c *together) flush() {
	c.waits = false
	_ = c.SetWriteDeadline(time.Time{}) // the one of TLS has passed
	_, _ = c.Conn.Write(c.bytes)
	c.bytes = nil
}

func (c *together) Write(b []byte) (int, error) {
	if !c.waits {
		return c.Conn.Write(b)
	}
	c.bytes = append(c.bytes, b...)
	return len(b), nil
}

func (c *together) Close() error {
	c.flush()
	return c.Conn.Close()
}

// A suspended machine runs no timers.
func TestAConnectionThatIsTooOldIsNotUsed(t *testing.T) {
	now := time.Now()
	for name, since := range map[string]time.Time{
		"by the monotonic clock":   now.Add(-idleTimeout),
		"by the wall clock":        now.Round(0).Add(-idleTimeout),
		"by a clock that was back": now.Round(0).Add(time.Minute),
	} {
		if !(&conn{keep: idleTimeout, idleSince: since}).old() {
			t.Errorf("%s: it is used", name)
		}
	}
	if (&conn{keep: idleTimeout, idleSince: now}).old() {
		t.Error("a new one is not used")
	}
}

// An attempt that is late already must not close the connections of others.
func TestAnAttemptWithoutTimeLeavesThePoolAsItIs(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := newSender(t, Config{})
	s.Deliver(t.Context(), delivery(t, server.URL))
	target, err := parseTarget(delivery(t, server.URL).Task)
	fatal.If(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	for _, x := range []*exchange{
		{Delivery: delivery(t, server.URL), ctx: t.Context(), deadline: time.Now()},
		{Delivery: delivery(t, server.URL), ctx: ended, deadline: time.Now().Add(time.Minute)},
	} {
		if c, err := s.connect(x, target); err == nil {
			t.Errorf("it got %v", c)
		}
	}
	if n := idleIn(s.pool); n != 1 {
		t.Errorf("%d connections are kept", n)
	}
}

// Otherwise a receiver that sends a session ticket after its handshake would
// need a handshake for each request.
func TestMessagesOfTLSDoNotEndAConnection(t *testing.T) {
	// A server that asks for a certificate sends its tickets after the handshake.
	server := serveTLS(t, &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13})
	s := newSender(t, Config{})
	trust(s, server)
	key := poolKey{"default", server.Listener.Addr().String(), true}
	config := s.tls.Clone()
	config.ClientSessionCache = tls.NewLRUClientSessionCache(1) // without it, a server sends no tickets
	c, err := s.dialer.dial(t.Context(), key, config)
	fatal.If(t, err)
	defer c.close()
	for began := time.Now(); peek(c.system) == nothingToRead; time.Sleep(time.Millisecond) { // no event to wait for
		if time.Since(began) > time.Minute {
			t.Fatal("no session tickets come, so this proves nothing")
		}
	}
	c.idleSince = time.Now()
	for tries := 0; peek(c.system) != nothingToRead; tries++ {
		if !c.begin(time.Now().Add(time.Minute), true) {
			t.Fatal("the connection cannot be used")
		}
		c.release()
		if tries == 100 { // on a busy machine, begin may not find the time to read
			t.Fatal("the messages are not read")
		}
	}
}

func TestAReplyThatComesBeforeTheEndOfALargeRequestCounts(t *testing.T) {
	big := body(task.BinaryBody, strings.Repeat("x", task.MaxBody))
	for name, c := range map[string]struct {
		handle func(net.Conn)
		status int
	}{
		"and the rest is not read": {func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			<-t.Context().Done()
		}, 413},
		"and the rest is read": {func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			awaitEnd(c)
		}, 200},
	} {
		url := rawServer(t, func(_ int, conn net.Conn) {
			if _, err := conn.Read(make([]byte, 100)); err == nil {
				c.handle(conn)
			}
		})
		began := time.Now()
		o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, url, big, timeout(time.Minute)))
		if o.Status != c.status || time.Since(began) > time.Minute {
			t.Errorf("%s: %+v after %v", name, o, time.Since(began))
		}
	}
}

func TestAnAttemptThatIsStoppedLeavesNoConnectionInThePool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := make(chan struct{})
	server := serve(t, func(http.ResponseWriter, *http.Request) { <-stop })
	s := newSender(t, Config{})
	done := make(chan task.Outcome)
	go func() { done <- s.Deliver(ctx, delivery(t, server.URL)) }()
	cancel()
	if o := <-done; o.Verdict != task.Interrupted && o.Verdict != task.Unsent {
		t.Errorf("%+v", o)
	}
	close(stop)
	if n := idleIn(s.pool); n != 0 {
		t.Errorf("%d connections are kept", n)
	}
}

// The last alert of TLS waits until there is room for it, and a receiver that
// reads nothing never makes room.
func TestTheLastAlertOfTLSDelaysNobody(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // no request comes
	server.StartTLS()
	t.Cleanup(server.Close)
	s := newSender(t, Config{})
	trust(s, server)
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe() // a write waits for its reader
		receiver := tls.Server(there, server.TLS)
		shaken := make(chan error, 1)
		go func() { shaken <- receiver.Handshake() }()
		config := s.tls.Clone()
		config.ServerName = "127.0.0.1"
		secure := tls.Client(here, config)
		fatal.If(t, errors.Join(secure.Handshake(), <-shaken))
		began := time.Now()
		newConn(secure, here, poolKey{}).close()
		if took := time.Since(began); took != 0 {
			t.Errorf("close took %v", took)
		}
		time.Sleep(alertTimeout)
		synctest.Wait()
		_ = there.SetReadDeadline(time.Now()) // a closed connection reports EOF, not a timeout
		if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is not closed after %v: %v", alertTimeout, err)
		}
	})
}

// idleIn returns how many connections p keeps.
func idleIn(p *pool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// closing records the connections that were closed.
type closing struct {
	mu  sync.Mutex // guards all
	all []*conn
}

func (c *closing) seen() []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// closingConn is one of these connections.
type closingConn struct {
	net.Conn
	to *closing
	of *conn
}

func (c *closingConn) Close() error {
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.all = append(c.to.all, c.of)
	return nil
}

// The model keeps all idle connections in one list.
func TestThePoolAgreesWithAList(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			const most = 8
			p := newPool(most)
			var kept, gone []*conn
			closed := &closing{}
			keys := []poolKey{{"a", "x:80", false}, {"a", "x:80", true}, {"b", "x:80", false}}
			for range 2000 {
				switch key := keys[random.IntN(len(keys))]; random.IntN(5) {
				case 0, 1:
					raw := &closingConn{to: closed}
					c := newConn(raw, raw, key)
					raw.of = c
					p.put(c)
					if kept = append(kept, c); len(kept) <= most {
						break
					}
					all := closed.seen()
					at := slices.Index(kept, all[len(all)-1]) // the oldest of its key has made room
					if at < 0 || at != slices.IndexFunc(kept, func(c *conn) bool { return c.key == kept[at].key }) {
						t.Fatalf("number %d of the list was closed", at)
					}
					gone, kept = append(gone, kept[at]), slices.Delete(kept, at, at+1)
				case 2:
					at := -1
					for i, c := range kept {
						if c.key == key {
							at = i
						}
					}
					got := p.get(key)
					if at < 0 && got != nil || at >= 0 && got != kept[at] {
						t.Fatalf("get returned %p, the list has it at %d", got, at)
					}
					if at >= 0 {
						kept = slices.Delete(kept, at, at+1)
					}
				default:
					time.Sleep(time.Duration(random.IntN(int(idleTimeout / 2))))
					synctest.Wait()
					swept := closed.seen()
					for len(kept) > 0 && slices.Contains(swept, kept[0]) {
						if idle := time.Since(kept[0].idleSince); idle < idleTimeout {
							t.Fatalf("a connection was closed after %v", idle)
						}
						gone, kept = append(gone, kept[0]), kept[1:]
					}
					if len(kept) > 0 && time.Since(kept[0].idleSince) >= idleTimeout+sweepEvery {
						t.Fatalf("a connection is idle for %v", time.Since(kept[0].idleSince))
					}
				}
				if got := closed.seen(); len(got) != len(gone) || idleIn(p) != len(kept) {
					t.Fatalf("closed %d, the model %d; %d are kept, in the model %d", len(got), len(gone), idleIn(p), len(kept))
				}
			}
			p.close()
			if got := closed.seen(); idleIn(p) != 0 || len(got) != len(gone)+len(kept) {
				t.Errorf("after close: %d kept, %d closed", idleIn(p), len(got))
			}
			raw := &closingConn{to: closed}
			if p.put(newConn(raw, raw, keys[0])); idleIn(p) != 0 {
				t.Error("a closed pool keeps a connection")
			}
		})
	}
}
