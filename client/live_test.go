package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/wire"
)

// liveServer serves live data with a number that grows with each sample.
func liveServer(t *testing.T) *server {
	samples := new(atomic.Int64)
	return serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnLive: func() wire.Live {
			return wire.Live{At: wire.FormatTime(time.Now()), Running: int(samples.Add(1)), Queues: []wire.LiveQueue{}, Destinations: []wire.LiveDestination{}}
		}}
	})
}

func TestLiveDataIsWatched(t *testing.T) {
	s := liveServer(t)
	var running []int
	for live, err := range s.client().Admin.WatchLive(t.Context()) {
		if err != nil || live.Now.IsZero() {
			t.Fatalf("%+v, %v", live, err)
		}
		if running = append(running, live.Running); len(running) == 2 {
			break
		}
	}
	if running[1] != running[0]+1 {
		t.Errorf("samples %d", running)
	}
}

// events is a server with a stream for each request. Each part of a stream is sent
// at once.
func (s *server) events(streams ...[]string) {
	var n atomic.Int64
	s.through = func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		if i >= len(streams) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		for _, part := range streams[i] {
			if part == silence {
				<-r.Context().Done()
				return
			}
			fmt.Fprint(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

const silence = "silence" // the server sends nothing more

// watch returns the numbers of the samples, and the error at the end.
func watch(ctx context.Context, c *client.Client) (running []int, last error) {
	for live, err := range c.Admin.WatchLive(ctx) {
		if err != nil {
			return running, err
		}
		running = append(running, live.Running)
	}
	return running, nil
}

func sample(n int) string {
	return fmt.Sprintf("data: {\"at\":\"2030-01-01T00:00:00.000Z\",\"running\":%d,\ndata: \"queues\":[],\"destinations\":[]}\n\n", n)
}

func TestAWatchGoesOnAfterAStreamHasEnded(t *testing.T) {
	for what, streams := range map[string][][]string{
		"streams end":           {{sample(1)}, {sample(2), sample(3)}, {}, {sample(4)}},
		"streams are silent":    {{sample(1), silence}, {silence}, {sample(2), sample(3), silence}, {sample(4)}},
		"other events":          {{": hello\n\n", sample(1), "event: new\ndata: x\n\n", sample(2)}, {sample(3), "data: {"}, {sample(4)}},
		"a problem that passes": {{sample(1), `event: problem` + "\n" + `data: {"status":429,"code":"rate","detail":"wait"}` + "\n\n"}, {sample(2), sample(3), sample(4)}},
	} {
		s := serve(t)
		s.events(streams...)
		running, err := watch(t.Context(), s.client(client.Options{Retry: quick, Timeout: 200 * time.Millisecond}))
		var refused *client.Error
		if fmt.Sprint(running) != "[1 2 3 4]" || !errors.As(err, &refused) || refused.Status != 503 {
			t.Errorf("%s: %d, %v", what, running, err)
		}
	}
}

func TestAWatchEndsIfARepeatCannotHelp(t *testing.T) {
	for stream, want := range map[string]string{
		sample(1) + "event: problem\ndata: {\"status\":401,\"code\":\"token_invalid\",\"detail\":\"revoked\"}\n\n": "watch live data: revoked",
		sample(1) + "data: {]\n\n":                "invalid body (invalid character",
		sample(1) + "event: problem\ndata: 1\n\n": "invalid body (json:",
	} {
		s := serve(t)
		s.events([]string{stream}, []string{sample(2)})
		if running, err := watch(t.Context(), s.client()); len(running) != 1 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v", stream, running, err)
		}
	}
	s := serve(t)
	s.through = func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }
	if running, err := watch(t.Context(), s.client()); len(running) != 0 || err == nil || !strings.Contains(err.Error(), "not a stream of events") {
		t.Errorf("a server without a stream: %d, %v", running, err)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	s := serve(t)
	s.events([]string{sample(1), silence}, []string{sample(2)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for live, err := range s.client().Admin.WatchLive(ctx) {
		if n++; n == 1 && err == nil && live.Running == 1 {
			cancel()
		} else if n != 2 || !errors.Is(err, context.Canceled) {
			t.Errorf("value %d: %+v, %v", n, live, err)
		}
	}
	if n != 2 {
		t.Errorf("%d values", n)
	}
}
