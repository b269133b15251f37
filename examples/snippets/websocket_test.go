package snippets

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/foliot/foliot/idle"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quick = idle.Config{PingEvery: 150 * time.Millisecond, PongWait: 150 * time.Millisecond, MaxMissed: 2}

// For each library: a client that answers pings stays, and gets its own
// messages back. A client that does not answer is closed.
func TestWebSocketsAreKeptByPongsAndDroppedWithoutThem(t *testing.T) {
	coder, gorilla, gws := newCoderConns(quick), newGorillaConns(quick), newGWSConns(quick)
	handler := &gwsHandler{conns: gws}
	for name, of := range map[string]struct {
		serve http.HandlerFunc
		count func() int
	}{
		"coder":   {func(w http.ResponseWriter, r *http.Request) { serveCoder(coder, w, r) }, coder.Len},
		"gorilla": {func(w http.ResponseWriter, r *http.Request) { serveGorilla(gorilla, w, r) }, gorilla.Len},
		"gws":     {func(w http.ResponseWriter, r *http.Request) { serveGWS(handler, w, r) }, gws.Len},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(of.serve)
			defer server.Close()
			var pings atomic.Int32
			live := dial(t, server.URL, func(context.Context, []byte) bool { pings.Add(1); return true })
			dial(t, server.URL, nil) // never reads, so it never answers
			echoes := make(chan string)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // limits the test
			defer cancel()
			go func() {
				defer close(echoes)
				for {
					_, text, err := live.Read(ctx)
					if err != nil {
						return
					}
					echoes <- string(text)
				}
			}()

			eventually(t, "both are watched", func() bool { return of.count() == 2 })
			eventually(t, "one is dropped", func() bool { return of.count() == 1 })
			eventually(t, "the other is pinged on", func() bool { return pings.Load() >= 8 })
			if err := live.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if got := <-echoes; got != "hello" {
				t.Errorf("heard %q", got)
			}
			live.Close(websocket.StatusNormalClosure, "")
			eventually(t, "no client is left", func() bool { return of.count() == 0 })
			for range echoes {
			}
		})
	}
}

func dial(t *testing.T, url string, pinged func(context.Context, []byte) bool) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1), &websocket.DialOptions{OnPingReceived: pinged})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseNow() })
	return c
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for limit := time.After(10 * time.Second); !holds(); {
		select {
		case <-poll.C:
		case <-limit:
			t.Fatalf("not in 10 s: %s", what)
		}
	}
}
