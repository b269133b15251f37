package client_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errOf returns the error of a call, and ignores its result.
func errOf[T any](_ T, err error) error { return err }

// server is the real API over the reference store. It delivers nothing by
// itself. If through is set, requests go through it.
type server struct {
	*testing.T
	store    *memstore.Store
	api      *api.Server
	url      string
	listener net.Listener
	through  func(api http.Handler, w http.ResponseWriter, r *http.Request)
}

func serve(t *testing.T, configure ...func(*api.Config)) *server {
	t.Helper()
	s := &server{T: t, store: memstore.New(memstore.Config{})}
	cfg := api.Config{Log: slog.New(slog.DiscardHandler)}
	for _, c := range configure {
		c(&cfg)
	}
	s.api = api.New(cfg, s.store)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.through != nil {
			s.through(s.api, w, r)
			return
		}
		s.api.ServeHTTP(w, r)
	}))
	s.url, s.listener = srv.URL, srv.Listener
	t.Cleanup(func() {
		srv.Close()
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// withHandlers lets all namespaces have tasks with kinds.
func withHandlers(c *api.Config) { c.Engine = servertest.Engine{} }

// quick has the default number of attempts and short pauses.
var quick = client.RetryPolicy{MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond}

func (s *server) client(o ...client.Options) *client.Client {
	s.Helper()
	options := client.Options{Retry: quick}
	if len(o) > 0 {
		options = o[0]
	}
	c, err := client.New(s.url, options)
	fatal.If(s, err)
	s.Cleanup(c.Close)
	return c
}

// claim makes a due task run, and returns the function that ends it.
func (s *server) claim(name string) (settle func(task.Verdict)) {
	s.Helper()
	ctx := context.WithoutCancel(s.Context())
	at := task.CeilMillis(time.Now())
	key := task.Key{Namespace: task.DefaultNamespace, Name: name}
	t, err := s.store.Get(ctx, key)
	fatal.If(s, err)
	token := task.Token("token-" + task.NewID(at))
	replies, err := s.store.Transit(ctx, at, store.Claims([]task.Claim{{Key: key, Lane: t.Lane(), Token: token, Until: at.Add(time.Minute)}}))
	if err != nil || replies[0].Err != nil {
		s.Fatal(err, replies)
	}
	return func(v task.Verdict) {
		o := task.Outcome{Verdict: v, StartedAt: at, Status: 204, Reason: "gone"}
		replies, err := s.store.Transit(ctx, at, store.Settlements([]task.Settlement{{Key: key, Token: token, Outcome: o}}))
		if err != nil || replies[0].Err != nil {
			s.Error(err, replies)
		}
		s.api.Notify(key)
	}
}

// hour returns a task that is not due in any test.
func hour(name string) client.Spec {
	return client.Spec{Name: name, Delay: time.Hour, HTTP: client.HTTP{URL: "http://127.0.0.1:9/"}}
}

// must returns the value, or fails the test if there is an error.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		fatal.If(t, err)
		return v
	}
}
