package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is the API over the reference store, without a network.
type service struct {
	*testing.T
	*api.Server
	store *memstore.Store
}

func serve(t *testing.T, configure ...func(*api.Config)) *service {
	cfg := api.Config{Version: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, c := range configure {
		c(&cfg)
	}
	store := memstore.New(memstore.Config{})
	return &service{T: t, Server: api.New(cfg, store), store: store}
}

// reply is a received reply.
type reply struct {
	*testing.T
	status int
	header http.Header
	body   []byte
}

// do sends one request. headers are "Name: value". A body is declared as JSON
// unless headers say otherwise.
func (s *service) do(method, target, body string, headers ...string) reply {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, target, strings.NewReader(body))
	r.Host = "localhost:8750"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Content-Type" {
			r.Header.Del(name)
		}
		if value != "" || name != "Content-Type" {
			r.Header.Add(name, value)
		}
	}
	return s.send(r)
}

func (s *service) send(r *http.Request) reply {
	s.Helper()
	w := httptest.NewRecorder()
	var sent bytes.Buffer
	if r.ContentLength >= 0 && r.ContentLength < 1<<20 { // some tests measure the memory that a large request takes
		r.Body = io.NopCloser(io.TeeReader(r.Body, &sent))
	}
	s.ServeHTTP(w, r)
	theContract().check(s, r, sent.Bytes(), w)
	return reply{s.T, w.Code, w.Header(), w.Body.Bytes()}
}

// want checks the status and decodes the reply into v, if there is one.
func (r reply) want(status int, v any) reply {
	r.Helper()
	if r.status != status {
		r.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	if v == nil {
		return r
	}
	dec := json.NewDecoder(bytes.NewReader(r.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		r.Fatalf("decode %s: %v", r.body, err)
	}
	return r
}

// decoded returns a reply that must have a status.
func decoded[T any](r reply, status int) (v T) {
	r.Helper()
	r.want(status, &v)
	return v
}

func (r reply) task(status int) wire.Task {
	r.Helper()
	return decoded[wire.Task](r, status)
}

// problem checks that the reply is a problem in the form of RFC 9457.
func (r reply) problem(status int, code, field string) wire.Problem {
	r.Helper()
	var p wire.Problem
	r.want(status, &p)
	if got := r.header.Get("Content-Type"); got != wire.ProblemType {
		r.Errorf("content type %q", got)
	}
	// The order of two headers that differ only in case is random.
	if p.Status != status || p.Code != code || !strings.EqualFold(p.Field, field) || p.Detail == "" || p.Title == "" || p.Type == "" {
		r.Errorf("problem %+v, want code %s and field %q", p, code, field)
	}
	return p
}

// all returns every record of the store.
func (s *service) all() []*task.Task {
	s.Helper()
	listing, err := s.store.List(s.Context(), task.Filter{Namespace: task.DefaultNamespace}, task.Page{Limit: 10_000, Bodies: true})
	fatal.If(s, err)
	return listing.Tasks
}

// record returns the stored task with this name.
func (s *service) record(name string) *task.Task {
	s.Helper()
	t, err := s.store.Get(s.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
	fatal.If(s, err)
	return t
}

// claim claims a due task, and returns a function that ends the attempt.
func (s *service) claim(name string) (settle func(task.Verdict)) {
	s.Helper()
	at := task.FloorMillis(time.Now())
	t := s.record(name)
	token := task.Token("token-" + task.NewID(at))
	replies, err := s.store.Transit(s.Context(), at, store.Claims([]task.Claim{{Key: t.Key(), Lane: t.Lane(), Token: token, Until: at.Add(time.Minute)}}))
	if err != nil || replies[0].Err != nil {
		s.Fatal(err, replies)
	}
	return func(v task.Verdict) {
		s.Helper()
		o := task.Outcome{Verdict: v, StartedAt: at, Status: 200, Reason: "gone", Reply: "hush, a reply"}
		if v != task.Success {
			o.Error = `hush, an error that quotes the reply`
		}
		replies, err := s.store.Transit(s.Context(), task.FloorMillis(time.Now()), store.Settlements([]task.Settlement{{Key: t.Key(), Token: token, Outcome: o}}))
		if err != nil || replies[0].Err != nil {
			s.Fatal(err, replies)
		}
	}
}

const hour = `{"name": "a", "delay": "1h", "http": {"url": "http://example.com/"}}`

func TestACreateReturnsTheTask(t *testing.T) {
	s := serve(t)
	before := time.Now()
	r := s.do("POST", "/v1/tasks", `{
		"name": "order-42-close", "queue": "orders", "delay": "30m",
		"http": {"url": "https://Shop.internal/orders/42/close", "headers": {"x-shop": "7"}, "body": {"order": 42}},
		"timeout": "5s", "expire_after": "1h", "priority": "high", "labels": {"tenant": "acme"},
		"retry": {"max_attempts": 3}}`)
	got := r.task(201)
	due, err := time.Parse(time.RFC3339, got.DueAt)
	if err != nil || due.Before(before.Add(30*time.Minute)) || due.After(time.Now().Add(30*time.Minute+time.Second)) {
		t.Errorf("due at %s, asked for 30m at %s", got.DueAt, before)
	}
	if got.Name != "order-42-close" || got.State != "scheduled" || got.Durability != "memory" || got.Version != 1 || got.ID == "" || got.Delay != "30m" {
		t.Errorf("got %+v", got)
	}
	if got.BodySize != len(`{"order": 42}`) || got.HTTP.Body != nil {
		t.Errorf("the reply to a change must have the size of the body, not the body: %s", r.body)
	}
	if want := `"` + got.ID + `.1"`; r.header.Get("ETag") != want {
		t.Errorf("ETag %s, want %s", r.header.Get("ETag"), want)
	}
	if r.header.Get("Location") != "/v1/tasks/order-42-close" {
		t.Errorf("Location %s", r.header.Get("Location"))
	}
	rec := s.record("order-42-close")
	if rec.Request.Destination != "shop.internal:443" || rec.Retry.MaxAttempts != 3 || rec.Retry.MinBackoff != time.Second ||
		rec.Timeout != 5*time.Second || rec.Priority != task.High || rec.Labels["tenant"] != "acme" || rec.Queue != "orders" {
		t.Errorf("stored %+v", rec)
	}
}

func TestATimeIsRoundedUpToTheMillisecond(t *testing.T) {
	s := serve(t)
	got := s.do("POST", "/v1/tasks", `{"at": "2030-01-02T15:04:05.0001+02:00", "http": {"url": "http://example.com/"}}`).task(201)
	if want := "2030-01-02T13:04:05.001Z"; got.At != want || got.DueAt != want {
		t.Errorf("at %s, due %s, want %s", got.At, got.DueAt, want)
	}
	if got.Name != got.ID {
		t.Errorf("no name given: %s, want the id %s", got.Name, got.ID)
	}
}

func TestABodyIsKeptByteForByte(t *testing.T) {
	for _, c := range []struct {
		name, given string
		kind        task.BodyKind
		stored      string
		shown       string
	}{
		{"object", `"body": {"n":  12345678901234567890123, "s": "\u00e4<", "f": 1.10}`, task.JSONBody, `{"n":  12345678901234567890123, "s": "\u00e4<", "f": 1.10}`, `"body":{"n":  12345678901234567890123, "s": "\u00e4<", "f": 1.10}`},
		{"number", `"body": 1e400`, task.JSONBody, `1e400`, `"body":1e400`},
		{"false", `"body":false `, task.JSONBody, `false`, `"body":false`},
		{"lone surrogate", `"body": ["\ud800"]`, task.JSONBody, `["\ud800"]`, `"body":["\ud800"]`},
		{"text", `"body": "h\u00e4 \ud83d\ude00 \"x\""`, task.TextBody, "hä 😀 \"x\"", `"body":"hä 😀 \"x\""`},
		{"empty text", `"body": ""`, task.TextBody, "", `"body":""`},
		{"null", `"body": null`, task.NoBody, "", ``},
		{"absent", ``, task.NoBody, "", ``},
		{"bytes", `"body_base64": "/wA="`, task.BinaryBody, "\xff\x00", `"body_base64":"/wA="`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			given := c.given
			if given != "" {
				given = ", " + given
			}
			s.do("POST", "/v1/tasks", `{"name": "a", "delay": "1h", "http": {"url": "http://example.com/"`+given+`}}`).want(201, nil)
			for range 10 { // buffers are reused
				s.do("POST", "/v1/tasks", `{"delay": "1h", "http": {"url": "http://example.com/", "body": [`+strings.Repeat("7,", 100)+`7]}}`).want(201, nil)
			}
			if got := s.record("a").Request; got.BodyKind != c.kind || string(got.Body) != c.stored || got.BodySize != len(c.stored) {
				t.Errorf("stored kind %d, %q", got.BodyKind, got.Body)
			}
			shown := string(s.do("GET", "/v1/tasks/a", "").want(200, nil).body)
			if !strings.Contains(shown, c.shown) || c.shown == "" && strings.Contains(shown, `"body`) {
				t.Errorf("shown %s, want %s in it", shown, c.shown)
			}
		})
	}
}
