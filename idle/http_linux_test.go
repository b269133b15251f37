package idle

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// onLoopback starts a server on loopback that a group watches.
func onLoopback(t *testing.T, g *Group[net.Conn], secure bool, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	WatchServer(s.Config, g) // before httptest sets its own hook
	if s.EnableHTTP2 = secure; secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func TestUnderKernelActivityASilentRequestIsIdle(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			t.Parallel()
			stallARequest(t, secure)
		})
	}
}

func stallARequest(t *testing.T, secure bool) {
	const timeout = 300 * time.Millisecond
	g := New(Config{AllIdle: timeout, Resolution: 20 * time.Millisecond, Activity: Kernel}, closingConns)
	s := onLoopback(t, g, secure, func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(timeout / 4)
		defer tick.Stop()
		for range 10 { // a slow request with some progress
			<-tick.C
			io.WriteString(w, ".")
			_ = http.NewResponseController(w).Flush()
		}
		start := time.Now()
		select {
		case <-r.Context().Done():
			if took := time.Since(start); took < timeout-10*time.Millisecond {
				t.Errorf("ended after %v of silence", took)
			}
		case <-time.After(time.Minute):
			t.Error("a minute of silence")
		}
	})
	reply, err := s.Client().Get(s.URL)
	fatal.If(t, err)
	if body, err := io.ReadAll(reply.Body); len(body) != 10 || err == nil {
		t.Errorf("%q, %v", body, err)
	}
	reply.Body.Close()
}

func TestAServerUnderEvictionForgetsEveryConnection(t *testing.T) {
	g := New(Config{AllIdle: 50 * time.Millisecond, MaxAge: 100 * time.Millisecond, Resolution: 2 * time.Millisecond}, closingConns)
	s := onLoopback(t, g, false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") })
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for n := 1; ctx.Err() == nil; n++ {
				if reply, err := client.Get(s.URL); err == nil {
					io.Copy(io.Discard, reply.Body)
					reply.Body.Close()
				}
				if n%50 == 0 {
					g.EvictIdlest(1)
				}
			}
		})
	}
	wg.Wait()
	await(t, "none is tracked", func() bool { return g.Len() == 0 })
	if stats := g.Stats(); stats.Closed.Of(Evicted) == 0 || stats.Closed.Of(Age) == 0 {
		t.Errorf("%+v", stats)
	}
}
