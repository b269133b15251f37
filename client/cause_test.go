package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

// Parallel calls share a context that ends with the error of the first one. The
// outcome of the others must not be written into that error.
func TestAContextsCauseFromAnotherCallIsNotChanged(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	first := &client.Error{Status: http.StatusBadRequest, Code: "bad_name"}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel(first)
		<-over
	}))
	defer server.Close()
	defer close(over)
	c, err := client.New(server.URL, client.Options{})
	fatal.If(t, err)
	_, err = c.Tasks.Get(ctx, "a")
	if err == nil || !client.MaybeApplied(err) {
		t.Errorf("a call that was sent and not answered: %v, may be done: %v", err, client.MaybeApplied(err))
	}
	if first.MaybeApplied {
		t.Error("the other call's error says now that it may be done")
	}
}
