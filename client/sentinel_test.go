package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
)

func TestAMissingNamespaceIsNotFound(t *testing.T) {
	c := serve(t).client()
	_, err := admin.New(c).Namespaces.Get(t.Context(), "missing")
	if !errors.Is(err, client.ErrNotFound) || !errors.Is(err, client.ErrNamespace) {
		t.Errorf("a missing namespace: %v", err)
	}
	_, err = c.Tasks.Get(t.Context(), "missing")
	if !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrNamespace) {
		t.Errorf("a missing task: %v", err)
	}
	if err := (&client.Error{Status: http.StatusNotFound}); errors.Is(err, client.ErrNotFound) {
		t.Error("a 404 of another program is ErrNotFound")
	}
}

func TestErrConflictStandsForEvery409(t *testing.T) {
	for code, other := range map[string]error{
		"exists": client.ErrExists, "last_admin_token": client.ErrLastToken, "last_node": client.ErrLastNode, "busy": client.ErrConflict,
	} {
		err := &client.Error{Status: http.StatusConflict, Code: code}
		if !errors.Is(err, client.ErrConflict) || !errors.Is(err, other) {
			t.Errorf("%s does not match", code)
		}
	}
}

// A deadline that would pass during a pause ends the call at once, with both
// errors.
func TestADeadlineDuringAPauseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, answer := range map[string]func(*http.Request) (*http.Response, error){
			"a refusal": func(*http.Request) (*http.Response, error) { return busy("5"), nil },
			"no reply":  func(*http.Request) (*http.Response, error) { return nil, errors.New("reset") },
		} {
			c := offline(t, client.Options{Retry: client.RetryPolicy{MinBackoff: 10 * time.Second}}, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			began := time.Now()
			_, err := c.Tasks.Get(ctx, "a")
			var refused *client.Error
			var transport *client.TransportError
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &refused) && !errors.As(err, &transport) {
				t.Errorf("%s: %v", name, err)
			}
			if spent := time.Since(began); spent != 0 || ctx.Err() != nil {
				t.Errorf("%s: the call ended after %v", name, spent)
			}
			if name == "no reply" && !client.MaybeApplied(err) {
				t.Errorf("%s: MaybeApplied is false for %v", name, err)
			}
		}
	})
}
