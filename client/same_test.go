package client

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store/memstore"
)

func newServer(t *testing.T) *Client {
	store := memstore.New(memstore.Config{})
	srv := httptest.NewServer(api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store))
	c, err := New(srv.URL, Options{NoBatching: true, Retry: RetryPolicy{Attempts: 1}})
	fatal.If(t, err)
	t.Cleanup(func() {
		c.Close()
		srv.Close()
		fatal.If(t, store.Close())
	})
	return c
}

// Two servers get the same calls, one of them in batches.
func TestACallInABatchHasTheResultOfACallAlone(t *testing.T) {
	spec := func(name string, edit ...func(*Spec)) Spec {
		s := Spec{Name: name, Delay: time.Hour, HTTP: HTTP{URL: "http://127.0.0.1:9/", Body: JSON(map[string]string{"<ä>": "\n\""})}, Labels: map[string]string{"ä": "\\"}}
		for _, e := range edit {
			e(&s)
		}
		return s
	}
	create := func(s Spec, opts ...CallOption) func() (*conn.Call, error) {
		return func() (*conn.Call, error) { return createCall(s, opts) }
	}
	put := func(s Spec, opts ...CallOption) func() (*conn.Call, error) {
		return func() (*conn.Call, error) { return putCall(s, opts) }
	}
	cancel := func(name string, opts ...CallOption) func() (*conn.Call, error) {
		return func() (*conn.Call, error) { return cancelCall(name, opts), nil }
	}
	touch := func(name string, opts ...CallOption) func() (*conn.Call, error) {
		return func() (*conn.Call, error) {
			c := act("touch", opts)
			c.Batch = "touch"
			return c.About("touch", tasksPath, name), nil
		}
	}
	alone, together := newServer(t), newServer(t)
	var refusals int
	for i, callOf := range []func() (*conn.Call, error){
		create(spec("a")), create(spec("a")), create(spec("b"), Key("k")), create(spec("b"), Key("k")), create(spec("c"), Key("k")), create(spec(""), Key("nameless")),
		create(spec("no name")), create(spec("d", func(s *Spec) { s.HTTP.URL = "ftp://x/" })), create(spec("e", func(s *Spec) { s.Labels = map[string]string{"": "x"} })),
		create(spec("f", func(s *Spec) { s.HTTP.Body = Text(strings.Repeat("x", 300<<10)) })), create(spec("g"), Key(strings.Repeat("k", 300))), create(spec("h", func(s *Spec) { s.At = time.Now() })),
		create(spec("i", func(s *Spec) { s.HTTP, s.Work = HTTP{}, Work{Kind: "k"} })),
		create(spec("l", func(s *Spec) { s.Delay, s.Local, s.TimeZone = 0, "2037-03-29 02:30", "Europe/Berlin" })),
		create(spec("m", func(s *Spec) { s.Delay, s.Local = 0, "2037-03-29 02:30" })), create(spec("n", func(s *Spec) { s.TimeZone = "Europe/Berlin" })),
		put(spec("a")), put(spec("a"), IfNoneMatch()), put(spec("new"), IfNoneMatch()), put(spec("a"), IfMatch("*")), put(spec("a"), IfMatch(`"1.1"`)), put(spec("nobody"), IfMatch("*")),
		put(spec("a"), Key("p")), put(spec("a"), Key("p")), put(spec("a", func(s *Spec) { s.Queue = "q" }), Key("p")), put(spec("a b")), put(spec("a"), IfMatch("bad")),
		touch("a"), touch("nobody"), touch("a/b"), touch("a", IfMatch("*")), touch("a", IfMatch(`"1.1"`)),
		cancel("a"), cancel("a"), cancel("nobody"), cancel("a/b"), cancel("b", IfMatch(`"1.1"`)), cancel("b", IfMatch("*")), touch("b"), put(spec("b")), create(spec("a")),
	} {
		one, err := callOf()
		fatal.If(t, err)
		two, err := callOf()
		fatal.If(t, err)
		var want, got Task
		one.Into, two.Into = &want, &got
		_, wantErr := alone.conn.Do(t.Context(), one)
		other := newPending(cancelCall("nobody", nil))
		other.call.Into = new(Task)
		p := newPending(two)
		together.conn.repeat(t.Context(), []*pending{p, other}, together.conn.calls.send)
		var e, wantE *Error
		if errors.As(wantErr, &wantE) {
			refusals++
		}
		errors.As(p.err, &e)
		random := cmpopts.IgnoreFields(Task{}, "ID", "DueAt", "NextAt", "CreatedAt", "FinishedAt", "ChangedAt")
		if strings.HasPrefix(want.Name, "0") || one.Op == "create a task" {
			random = cmpopts.IgnoreFields(Task{}, "ID", "DueAt", "NextAt", "CreatedAt", "Name")
		}
		if diff := cmp.Diff(wantE, e, cmpopts.IgnoreFields(Error{}, "ID")) + cmp.Diff(want, got, random, cmp.AllowUnexported(Body{}, DeadNotice{})); diff != "" || (wantErr == nil) != (p.err == nil) {
			t.Errorf("call %d, %s (-alone +in a batch): %v, %v\n%s", i, one.Op, wantErr, p.err, diff)
		}
		if !errors.Is(other.err, ErrNotFound) {
			t.Errorf("call %d, %s: the other call of the batch: %v", i, one.Op, other.err)
		}
	}
	if refusals < 15 {
		t.Errorf("only %d calls are refused", refusals)
	}
}
