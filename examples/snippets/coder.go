package snippets

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/foliot/foliot/idle"
)

//doc:show heartbeat

// heartbeat closes a peer that has vanished, about 50 s after its last sign of
// life.
var heartbeat = idle.Config{PingEvery: 30 * time.Second, PongWait: 10 * time.Second, MaxMissed: 2}

//doc:end

type coderConn struct {
	idle.Entry
	ws      *websocket.Conn
	cancel  context.CancelFunc // ends Read, which closes the socket
	pinging atomic.Bool
}

// Close is called by the group, on a worker. CloseNow would wait for a Close
// under way.
func (c *coderConn) Close() error {
	c.cancel()
	return nil
}

func newCoderConns(cfg idle.Config) *idle.Group[*coderConn] {
	return idle.New(cfg, func(c *coderConn, why idle.Reason) idle.Verdict {
		if why != idle.Ping {
			return idle.Close()
		}
		if c.pinging.CompareAndSwap(false, true) {
			go func() { // Ping waits for room in the socket, and then for the pong
				defer c.pinging.Store(false)
				ctx, cancel := context.WithTimeout(context.Background(), cfg.PongWait)
				defer cancel()
				c.ws.Ping(ctx)
			}()
		}
		return idle.Keep()
	})
}

func serveCoder(conns *idle.Group[*coderConn], w http.ResponseWriter, r *http.Request) {
	c := &coderConn{}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		OnPingReceived: func(context.Context, []byte) bool { c.TouchRead(); return true },
		OnPongReceived: func(context.Context, []byte) { c.Pong() },
	})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.ws, c.cancel = ws, cancel
	if conns.Track(c, &c.Entry) != nil {
		ws.Close(websocket.StatusTryAgainLater, "")
		return
	}
	defer conns.Untrack(&c.Entry)
	for {
		kind, message, err := ws.Read(ctx) // this also handles pongs: without a Read there are none
		if err != nil {
			return
		}
		c.TouchRead()
		if ws.Write(ctx, kind, message) != nil {
			return
		}
	}
}
