package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
)

func TestAnOptionThatACallDoesNotTakeIsAnError(t *testing.T) {
	c := offline(t, client.Options{}, func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s %s was sent", r.Method, r.URL)
		return nil, errors.New("offline")
	})
	for want, call := range map[string]func(context.Context) error{
		"cancel a: Expect: the call does not take this option: it takes IfMatch": func(ctx context.Context) error {
			return errOf(c.Tasks.Cancel(ctx, "a", client.IfMatch("*"), client.Expect(3)))
		},
		"create a: IfMatch: the call does not take this option: it takes Key": func(ctx context.Context) error {
			return errOf(c.Tasks.Create(ctx, hour("a"), client.IfMatch("*")))
		},
		"put queue q: Key: the call does not take this option: it takes IfMatch, IfNoneMatch": func(ctx context.Context) error {
			return errOf(c.Queues.Put(ctx, "q", client.QueueSettings{}, client.Key("k")))
		},
		"put a: Key: the key is empty, but it must have 1 to 256 printable ASCII characters": func(ctx context.Context) error {
			return errOf(c.Tasks.Put(ctx, hour("a"), client.Key("")))
		},
		"drain node n: Until: the call does not take this option: it takes Force": func(ctx context.Context) error {
			return errOf(admin.New(c).Drain(ctx, "n", client.Until(time.Now())))
		},
	} {
		var e *client.Error
		if err := call(t.Context()); err == nil || err.Error() != want || !errors.As(err, &e) || e.Code != "bad_option" || client.MaybeApplied(err) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAClientIsMadeFromTheEnvironment(t *testing.T) {
	var got *http.Request
	s := serve(t)
	s.through = func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
		got = r
		problem(w, 404, "not_found")
	}
	t.Setenv("FOLIOT_SERVER", s.url)
	t.Setenv("FOLIOT_TOKEN", secret)
	t.Setenv("FOLIOT_NAMESPACE", "acme")
	c := must[*client.Client](t)(client.FromEnv())
	defer c.Close()
	if _, err := c.Tasks.Get(t.Context(), "a"); !errors.Is(err, client.ErrNotFound) || got.Header.Get("Authorization") != "Bearer "+secret || got.Header.Get("Foliot-Namespace") != "acme" {
		t.Errorf("%v, sent %v", err, got.Header)
	}
	t.Setenv("FOLIOT_SERVER", "nowhere")
	if _, err := client.FromEnv(); err == nil {
		t.Error("a server that is no URL is taken")
	}
	t.Setenv("FOLIOT_SERVER", "")
	if _, err := client.FromEnv(); err != nil {
		t.Errorf("without a server: %v", err)
	}
}
