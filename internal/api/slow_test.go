package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
)

// A slow body is abandoned when the server's time for it ends, and no part of
// it is stored. The body of a client without a token is not read.
func TestASlowBodyIsAbandoned(t *testing.T) {
	const patience = 200 * time.Millisecond
	for _, secured := range []bool{false, true} {
		s := serve(t)
		if secured {
			s.token("*", settings.ScopeAdmin)
		}
		server := httptest.NewUnstartedServer(s)
		server.Config.ReadTimeout = patience
		if secured {
			server.Config.ReadTimeout = time.Minute // this must not end the request
		}
		server.Start()
		status, took := drip(t, server.Listener.Addr().String())
		switch {
		case secured && (status != http.StatusUnauthorized || took > 5*time.Second):
			t.Errorf("without a token: %d after %v", status, took)
		case !secured && (status != http.StatusBadRequest || took < patience):
			t.Errorf("%d after %v", status, took)
		}
		if n := len(s.all()); n != 0 {
			t.Errorf("%d tasks were made of half a body", n)
		}
		server.Close()
	}
}

// drip sends a request with an endless body and returns the reply.
func drip(t *testing.T, addr string) (status int, took time.Duration) {
	began := time.Now() // the server's time starts at the accept
	conn, err := net.Dial("tcp", addr)
	fatal.If(t, err)
	defer conn.Close()
	_ = conn.SetDeadline(began.Add(10 * time.Second))
	fmt.Fprintf(conn, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(hour)+1, hour[:20])
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	fatal.If(t, err)
	resp.Body.Close()
	return resp.StatusCode, time.Since(began)
}
