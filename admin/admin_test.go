package admin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

// mounted returns the URL of an API below /timers, and its node.
func mounted(t *testing.T, allow func(*http.Request) admin.Access) (string, *foliot.Node) {
	t.Helper()
	m := new(foliot.Mux)
	foliot.NewKind[string]("greet").Handle(m, func(context.Context, *foliot.Task[string]) error { return nil })
	n := foliottest.Start(t, m)
	mux := http.NewServeMux()
	mux.Handle("/timers/", http.StripPrefix("/timers", admin.New(n, allow)))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/timers", n
}

func TestWithoutAnAuthorizerEachRequestIsRefused(t *testing.T) {
	url, _ := mounted(t, nil)
	for _, path := range []string{"/v1/tasks", "/v1/live", "/v1/queues", "/v1/whoami"} {
		r, err := http.Get(url + path)
		fatal.If(t, err)
		r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
}

func TestTheClientWorksBelowAPathWithTheRightsOfItsUser(t *testing.T) {
	url, n := mounted(t, func(r *http.Request) admin.Access {
		switch r.Header.Get("Authorization") {
		case "Bearer reader":
			return admin.Read
		case "Bearer writer":
			return admin.Write
		}
		return admin.None
	})
	as := func(token string) *client.Client {
		c, err := client.New(url, client.Options{Token: token})
		fatal.If(t, err)
		t.Cleanup(c.Close)
		return c
	}
	fatal.If(t, errOf(foliot.NewKind[string]("greet").In(t.Context(), n, "a", time.Hour, "you")))
	if task, err := as("reader").Tasks.Get(t.Context(), "a"); err != nil || task.Name != "a" {
		t.Errorf("%+v, %v", task, err)
	}
	if _, err := as("reader").Tasks.Cancel(t.Context(), "a"); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("a reader cancels: %v", err)
	}
	if _, err := as("writer").Tasks.Cancel(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := as("nobody").Tasks.Get(t.Context(), "a"); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a request without rights reads: %v", err)
	}
	if i, err := n.Get(t.Context(), "a"); err != nil || i.State != foliot.StateCancelled {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestThePageIsServedBelowAPath(t *testing.T) {
	url, _ := mounted(t, func(*http.Request) admin.Access { return admin.Admin })
	r, err := http.Get(url + "/ui/")
	fatal.If(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(text), "<html") {
		t.Errorf("%s, %v", r.Status, err)
	}
	if strings.Contains(string(text), `src="/`) || strings.Contains(string(text), `href="/`) {
		t.Error("the page refers to files by absolute paths")
	}
}

func TestALongRequestEndsWithTheRightsOfItsUser(t *testing.T) {
	var left atomic.Bool
	url, _ := mounted(t, func(*http.Request) admin.Access {
		if left.Load() {
			return admin.None
		}
		return admin.Read
	})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", url+"/v1/live", nil)
	fatal.If(t, err)
	r.Header.Set("Accept", "text/event-stream")
	reply, err := http.DefaultClient.Do(r)
	fatal.If(t, err)
	defer reply.Body.Close()
	fatal.If(t, errOf(reply.Body.Read(make([]byte, 1))))
	left.Store(true)
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		t.Errorf("the stream goes on: %v", err)
	}
}
