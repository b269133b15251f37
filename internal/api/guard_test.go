package api_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

func TestOnlyOurOwnHostsAreServed(t *testing.T) {
	local := &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8750}
	s := serve(t, func(c *api.Config) {
		c.AllowedHosts = []string{"timers.internal", "2001:db8::1", "", ":8750", "0.0.0.0", "[::]:8750"}
	})
	for host, allowed := range map[string]bool{
		"localhost": true, "localhost:8750": true, "LOCALHOST.:8750": true, "127.0.0.1:8750": true, "127.9.9.9": true, "[::1]:8750": true, "::1": true,
		"[::ffff:127.0.0.1]": true, "192.0.2.7": true, "192.0.2.7:1": true, "timers.internal": true, "Timers.Internal:443": true, "[2001:db8::1]": true,
		"": false, "evil.example": false, "evil.example:8750": false, "localhost.evil.example": false, "timers.internal.evil.example": false,
		"192.0.2.8": false, "8.8.8.8:8750": false, "0.0.0.0": false, "[::]": false, "xlocalhost": false, "2130706433": false, "localhost@evil.example": false,
	} {
		for _, target := range []string{"GET /healthz", "POST /v1/tasks", "GET /v1/tasks", "GET /openapi.json", "GET /", "GET /nothing"} {
			method, path, _ := strings.Cut(target, " ")
			r := httptest.NewRequest(method, path, nil)
			r.Host = host
			r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, local))
			if got := s.send(r); (got.status != 421) != allowed {
				t.Errorf("%s with Host %q: %d %s", target, host, got.status, got.body)
			} else if !allowed {
				if p := got.problem(421, "host_not_allowed", "Host"); !strings.Contains(p.Detail, "--host NAME") {
					t.Errorf("it does not name the flag: %q", p.Detail)
				}
			}
		}
	}
}

func TestOtherSitesPagesAreRefused(t *testing.T) {
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example", "Origin: null", "Origin: http://localhost:9999"} {
		s := serve(t)
		s.do("POST", "/v1/tasks", hour, header).problem(403, "cross_origin", "")
		s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "x", header, "Content-Type: text/plain").problem(403, "cross_origin", "")
		s.do("POST", "/v1/tasks/cancel?all=true", "", header).problem(403, "cross_origin", "")
		if n := len(s.all()); n != 0 {
			t.Errorf("%s: stored %d tasks", header, n)
		}
	}
	s := serve(t)
	s.do("POST", "/v1/tasks", hour, "Origin: http://localhost:8750", "Sec-Fetch-Site: same-origin").want(201, nil)
}

// On a server without tokens, a page of another site must not even read. With
// tokens, a page has none. Routes without secrets stay open to links.
func TestOtherSitesPagesReadNothingWithoutTokens(t *testing.T) {
	reads := []string{"/v1/tasks", "/v1/tasks/a", "/v1/queues", "/v1/live", "/v1/audit", "/v1/schedules", "/v1/tokens", "/v1/secrets", "/v1/namespaces", "/metrics"}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example", "Origin: null"} {
		s := serve(t)
		for _, path := range reads {
			s.do("GET", path, "", header).problem(403, "cross_origin", "")
			if got := s.do("HEAD", path, "", header).status; got != 403 {
				t.Errorf("HEAD %s, %s: %d", path, header, got)
			}
		}
		for _, path := range []string{"/", "/healthz", "/readyz", "/openapi.json"} {
			s.do("GET", path, "", header).want(200, nil)
		}
		s.token("*", settings.ScopeAdmin)
		s.do("GET", "/v1/tasks", "", header).problem(401, "token_required", "Authorization")
	}
	s := serve(t)
	s.do("GET", "/v1/tasks", "", "Sec-Fetch-Site: none").want(200, nil) // typed into the address bar
	s.do("GET", "/v1/tasks", "", "Sec-Fetch-Site: same-origin").want(200, nil)
}

// No other site may read replies, and no browser may guess the type of a reply.
func TestEveryReplyHasTheSafeHeaders(t *testing.T) {
	s := serve(t)
	for _, target := range []string{"GET /healthz", "GET /v1/tasks", "GET /v1/tasks/none", "GET /nothing", "PUT /healthz", "OPTIONS /v1/tasks", "GET /openapi.json", "GET /"} {
		method, path, _ := strings.Cut(target, " ")
		r := s.do(method, path, "", "Origin: https://evil.example")
		if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Cache-Control") != "no-store" || r.header.Get("Content-Type") == "" {
			t.Errorf("%s: %v", target, r.header)
		}
		for name := range r.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", target, name)
			}
		}
	}
}

// broken is a store with failing reads.
type broken struct {
	*memstore.Store
	get func() error
}

func (b broken) Get(context.Context, task.Key) (*task.Task, error) { return nil, b.get() }

func TestInternalErrorsAreLoggedAndNotReturned(t *testing.T) {
	for name, get := range map[string]func() error{
		"panic": func() error { panic("/secret/path") },
		"error": func() error { return errors.New("open /secret/path: permission denied") },
	} {
		var log bytes.Buffer
		b := broken{memstore.New(memstore.Config{}), get}
		s := &service{T: t, Server: api.New(api.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, b)}
		r := s.do("GET", "/v1/tasks/a", "")
		r.problem(500, "internal", "")
		if strings.Contains(string(r.body), "secret") || !strings.Contains(log.String(), "/secret/path") {
			t.Errorf("%s: reply %s, log %s", name, r.body, log.String())
		}
	}
}

func TestAnAbortedReplyStaysAborted(t *testing.T) {
	s := &service{T: t, Server: api.New(api.Config{}, broken{memstore.New(memstore.Config{}), func() error { panic(http.ErrAbortHandler) }})}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Error("net/http does not get to know")
		}
	}()
	s.do("GET", "/v1/tasks/a", "")
}
