package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/wire"
)

func TestABackupIsStreamed(t *testing.T) {
	serve(t).do("GET", "/v1/backup", "").problem(501, "unsupported", "")
	s := serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
			for range 100 {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return err
				}
			}
			return nil
		}}
	})
	r := s.do("GET", "/v1/backup", "").want(200, nil)
	if len(r.body) != 100_000 || r.header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("%d bytes, %v", len(r.body), r.header)
	}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"} {
		s.do("GET", "/v1/backup", "", header).problem(403, "cross_origin", "")
	}
	s.do("GET", "/v1/backup", "", "Sec-Fetch-Site: same-origin").want(200, nil)
	s.do("GET", "/v1/backup", "", "Sec-Fetch-Site: none").want(200, nil)
}

func TestAFailedBackupBreaksTheConnection(t *testing.T) {
	for _, c := range []struct {
		written int
		panics  bool
	}{{0, false}, {10, false}, {0, true}, {10, true}} {
		written, panics := c.written, c.panics
		var log bytes.Buffer
		s := &service{T: t, Server: api.New(api.Config{
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Engine: servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
				_, _ = w.Write(make([]byte, written))
				if panics {
					panic("/secret/path")
				}
				return errors.New("read /secret/path: broken")
			}},
		}, memstore.New(memstore.Config{}))}
		server := httptest.NewServer(s)
		resp, err := http.Get(server.URL + "/v1/backup")
		if err != nil {
			if written == 0 {
				t.Error(err)
			}
			server.Close()
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		server.Close()
		if written == 0 && (resp.StatusCode != 500 || strings.Contains(string(body), "secret")) || written > 0 && err == nil {
			t.Errorf("after %d bytes: %d, %v, %s", written, resp.StatusCode, err, body)
		}
		if !strings.Contains(log.String(), "/secret/path") {
			t.Errorf("logged %s", log.String())
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestABackupEndsWithItsToken(t *testing.T) {
	var s *service
	var operator wire.Token
	s = serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
			if _, err := w.Write([]byte("x")); err != nil {
				return err
			}
			s.configure(settings.RevokeToken{Namespace: "*", ID: operator.ID, Force: true})
			_, err := w.Write([]byte("y"))
			return err
		}}
	})
	s.do("POST", "/v1/tokens", `{"scope": "admin", "namespace": "*"}`).want(201, &operator)
	defer func() {
		if recover() == nil {
			t.Error("the transfer went on")
		}
	}()
	s.do("GET", "/v1/backup", "", "Authorization: Bearer "+operator.Token)
}

// The store makes one backup at a time: a client that does not read must not
// keep out others.
func TestABackupEndsIfItsClientDoesNotRead(t *testing.T) {
	for _, timeout := range []time.Duration{0, 5 * time.Second} { // the server's timeout does not end it
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			s := serve(t, func(c *api.Config) {
				c.Observe = func(context.Context, string, string, int, time.Duration) {} // wraps the writer
				c.Engine = servertest.Engine{OnBackup: func(_ context.Context, w io.Writer) error {
					_, err := w.Write(make([]byte, 1<<20))
					ended <- err
					return err
				}}
			})
			client, end := net.Pipe() // without a buffer: written bytes were read
			srv := &http.Server{Handler: s, WriteTimeout: timeout, ReadHeaderTimeout: time.Minute}
			go func() { _ = srv.Serve(&oneConn{Conn: end, closed: make(chan struct{})}) }()
			defer srv.Close()
			fmt.Fprint(client, "GET /v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n")
			for range 8 { // slowly, without an end
				time.Sleep(29 * time.Second)
				if _, err := io.CopyN(io.Discard, client, 40<<10); err != nil {
					t.Fatal(err)
				}
			}
			stopped := time.Now()
			err := <-ended
			if took := time.Since(stopped); !errors.Is(err, os.ErrDeadlineExceeded) || took > 30*time.Second {
				t.Errorf("it ended after %v: %v", took, err)
			}
			if _, err := io.Copy(io.Discard, client); err != nil { // ended early
				t.Error(err)
			}
		})
	}
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	net.Conn
	given  bool
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.Conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConn) Addr() net.Addr { return l.LocalAddr() }

// TestOperatorsReadTheServersOwnEgressVerdict: it contains addresses, so a
// namespace's token may not read it.
func TestOperatorsReadTheServersOwnEgressVerdict(t *testing.T) {
	serve(t).do("GET", "/v1/egress?url=http://10.1.2.3/", "").problem(501, "unsupported", "")
	s := serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnEgress: func(_ context.Context, url string) wire.Egress {
			if url == "nonsense" {
				return wire.Egress{URL: url, Problem: "must begin with http:// or https://"}
			}
			return wire.Egress{URL: url, Host: "10.1.2.3", Open: true, Addresses: []wire.EgressAddress{{Address: "10.1.2.3", Open: true}}}
		}}
	})
	operator, tenant := s.token("*", settings.ScopeRead), s.token("default", settings.ScopeAdmin)
	var got wire.Egress
	if s.do("GET", "/v1/egress?url=http://10.1.2.3/", "", operator).want(200, &got); !got.Open || got.URL != "http://10.1.2.3/" || len(got.Addresses) != 1 {
		t.Errorf("%+v", got)
	}
	s.do("GET", "/v1/egress?url=http://10.1.2.3/", "", tenant).problem(403, "operator_only", "Authorization")
	s.do("GET", "/v1/egress?url=nonsense", "", operator).problem(400, "bad_url", "url")
	s.do("GET", "/v1/egress", "", operator).problem(400, "required", "url")
}

func TestMetricsAndTheClusterAreTheOperators(t *testing.T) {
	serve(t).do("GET", "/metrics", "").problem(501, "unsupported", "")
	serve(t).do("GET", "/v1/live", "").problem(501, "unsupported", "")
	s := serve(t, func(c *api.Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	if r := s.do("GET", "/metrics", "").want(200, nil); string(r.body) != "up 1\n" {
		t.Errorf("%s", r.body)
	}
	c := decoded[wire.Cluster](s.do("GET", "/v1/cluster", ""), 200)
	if len(c.Nodes) != 1 || c.Nodes[0].Version != "test" || !c.Nodes[0].Ready || c.Durability != "memory" || c.Secured {
		t.Errorf("%+v", c)
	}
	s.Stop()
	operator := s.token("*", settings.ScopeRead)
	s.do("GET", "/v1/cluster", "", operator).want(200, &c)
	if c.Nodes[0].Ready || !c.Secured {
		t.Errorf("%+v", c)
	}
}

func TestEveryReplyIsObserved(t *testing.T) {
	var seen []string
	s := serve(t, func(c *api.Config) {
		c.Observe = func(_ context.Context, route, method string, status int, d time.Duration) {
			if d < 0 || d > time.Minute {
				t.Errorf("took %v", d)
			}
			seen = append(seen, fmt.Sprint(method, " ", route, " ", status))
		}
		c.Engine = servertest.Engine{OnBackup: func(context.Context, io.Writer) error { panic("ouch") }}
	})
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/v1/tasks", hour, "POST /v1/tasks 201"},
		{"GET", "/v1/tasks/a", "", "GET /v1/tasks/{name} 200"},
		{"HEAD", "/v1/tasks/a", "", "HEAD /v1/tasks/{name} 200"},
		{"GET", "/v1/tasks/b", "", "GET /v1/tasks/{name} 404"},
		{"GET", "/openapi.json", "", "GET /openapi.json 200"},
		{"GET", "/", "", "GET /{$} 200"},
		{"GET", "/some/thing", "", "GET other 404"},
		{"PUT", "/v1/tasks", "", "PUT other 405"},
		{"INVENTED", "/v1/tasks", "", "other other 405"},
		{"GET", "/v1//tasks", "", "GET other 404"},
		{"GET", "/v1/backup", "", "GET /v1/backup 500"},
	} {
		seen = nil
		if s.do(c.method, c.target, c.body); len(seen) != 1 || seen[0] != c.want {
			t.Errorf("%s %s: observed %q, want %q", c.method, c.target, seen, c.want)
		}
	}
}
