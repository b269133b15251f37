package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
)

// While attempts end, a stopping server marks every reply as the last of its
// connection. It still accepts connections, and it is not ready.
func TestAServerThatStopsAnswersUntilItsAttemptsHaveEnded(t *testing.T) {
	hook := servertest.NewReceiver(t)
	cfg := testConfig()
	cfg.Dispatch.Grace = servertest.Patience
	n, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, nil) }()
	url := "http://" + n.listener.Addr().String()
	kept, fresh := &http.Client{Transport: new(http.Transport)}, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(c *http.Client, path string) *http.Response {
		t.Helper()
		reply, err := c.Get(url + path)
		fatal.If(t, err)
		reply.Body.Close()
		return reply
	}
	reply, err := kept.Post(url+"/v1/tasks", "application/json", strings.NewReader(`{"delay": "0s", "name": "a", "http": {"url": "`+hook.URL+`"}}`))
	fatal.If(t, err)
	reply.Body.Close()
	hook.Next(t)
	if reply := get(kept, "/readyz"); reply.StatusCode != http.StatusOK || reply.Close {
		t.Errorf("before: %s, close: %v", reply.Status, reply.Close)
	}
	polled := make(chan *http.Response)
	go func() {
		reply, err := fresh.Get(url + "/v1/tasks/a?wait=30s")
		if err != nil {
			t.Error(err)
		}
		polled <- reply
	}()
	stop()
	if reply := <-polled; reply != nil { // the poll returns early with the present state, and does not delay the stop
		reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			t.Errorf("the poll under way: %s", reply.Status)
		}
	}
	if reply := get(kept, "/readyz"); reply.StatusCode != http.StatusServiceUnavailable || !reply.Close {
		t.Errorf("on a kept connection: %s, close: %v", reply.Status, reply.Close)
	}
	if reply := get(fresh, "/v1/tasks/a"); reply.StatusCode != http.StatusOK {
		t.Errorf("on a new connection: %s", reply.Status)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended before its attempt: %v", err)
	default:
	}
	hook.Release()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := fresh.Get(url + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

func TestAFailedStoreStopsTheServer(t *testing.T) {
	n, err := Open(t.Context(), testConfig(), slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	defer func() { _ = n.close() }()
	defer n.http.HTTP.Close()
	n.Node.Fatal <- errors.New("the disk is gone")
	if err := n.Run(t.Context(), nil); err == nil || err.Error() != "the disk is gone" {
		t.Errorf("run returned %v", err)
	}
}
