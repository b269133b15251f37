package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/servertest"
)

// testConfig returns the configuration of a server in memory, on any port.
func testConfig() config.Config {
	return config.Config{Addr: anyPort, Dispatch: dispatch.Config{Slots: 1, Grace: -1, BreakerFailures: -1}}
}

// runNode runs a server in this process until the test ends. prepare may change
// the server before.
func runNode(t *testing.T, prepare func(*Server)) *Server {
	t.Helper()
	return runNodeWith(t, testConfig(), slog.New(slog.DiscardHandler), prepare)
}

func runNodeWith(t *testing.T, cfg config.Config, log *slog.Logger, prepare func(*Server)) *Server {
	t.Helper()
	n, err := Open(t.Context(), cfg, log)
	fatal.If(t, err)
	if prepare != nil {
		prepare(n)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return n
}

// A page of bodies is larger than the buffers of the system. Without a bound on
// replies, each client that does not read would keep one page in memory
// forever.
func TestAClientThatReadsNoReplyIsDisconnected(t *testing.T) {
	closed := make(chan struct{}, 1)
	n := runNode(t, func(n *Server) {
		if n.http.HTTP.WriteTimeout <= n.http.HTTP.ReadTimeout {
			t.Fatalf("replies have %v, and a request may already take %v of it", n.http.HTTP.WriteTimeout, n.http.HTTP.ReadTimeout)
		}
		n.http.HTTP.WriteTimeout = 50 * time.Millisecond
		n.http.HTTP.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed {
				closed <- struct{}{}
			}
		}
	})
	item := `{"delay": "1h", "http": {"url": "http://127.0.0.1:9/", "body": "` + strings.Repeat(`\u0001`, 250<<10) + `"}}` // six bytes each, also in the reply
	r := httptest.NewRequest("POST", "/v1/tasks/batch", strings.NewReader(`{"tasks": [`+strings.Repeat(item+", ", 8)+item+`]}`))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	n.API.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	conn, err := net.Dial("tcp", n.listener.Addr().String())
	fatal.If(t, err)
	defer conn.Close()
	fatal.If(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	fmt.Fprint(conn, "GET /v1/tasks?include=body&limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case <-closed:
	case <-time.After(servertest.Patience):
		t.Error("the server still holds the reply")
	}
}

func TestALongPollMayLastLongerThanOtherReplies(t *testing.T) {
	n := runNode(t, func(n *Server) { n.http.HTTP.WriteTimeout = 50 * time.Millisecond })
	url := "http://" + n.listener.Addr().String() + "/v1/tasks/a"
	r := httptest.NewRequest("PUT", url, strings.NewReader(`{"delay": "1h", "http": {"url": "http://127.0.0.1:9/"}}`))
	r.Header.Set("Content-Type", "application/json")
	n.API.ServeHTTP(httptest.NewRecorder(), r)
	reply, err := http.Get(url + "?wait=150ms")
	fatal.If(t, err)
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Error(reply.Status)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAStreamLastsLongerThanOtherReplies(t *testing.T) {
	n := runNode(t, func(n *Server) { n.http.HTTP.WriteTimeout = 50 * time.Millisecond })
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+n.listener.Addr().String()+"/v1/live", nil)
	fatal.If(t, err)
	r.Header.Set("Accept", "application/json;q=0.1, text/event-stream")
	reply, err := http.DefaultClient.Do(r)
	fatal.If(t, err)
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	for range 2 { // the second event comes a second later
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), `data: {"now":`) || !lines.Scan() || lines.Text() != "" {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
	}
}

func TestNoRequestPassesTheHostCheck(t *testing.T) {
	n := runNode(t, func(*Server) {})
	conn, err := net.Dial("tcp", n.listener.Addr().String())
	fatal.If(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n") // net/http would answer this by itself
	if reply, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 421 ") {
		t.Errorf("%v: %s", err, reply)
	}
}
