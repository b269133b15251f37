package snippets

import (
	"net/http"
	"time"

	"github.com/foliot/foliot/idle"
	"github.com/gorilla/websocket"
)

type gorillaConn struct {
	idle.Entry
	*websocket.Conn // the group calls its Close, which closes the socket at once
	out             chan []byte
	pings           chan struct{} // holds one ping to send
}

func newGorillaConns(cfg idle.Config) *idle.Group[*gorillaConn] {
	return idle.New(cfg, func(c *gorillaConn, why idle.Reason) idle.Verdict {
		if why != idle.Ping {
			return idle.Close()
		}
		select {
		case c.pings <- struct{}{}: // for the goroutine that writes messages, and may wait for the socket
		default: // the last ping is not sent yet
		}
		return idle.Keep()
	})
}

func serveGorilla(conns *idle.Group[*gorillaConn], w http.ResponseWriter, r *http.Request) {
	ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	c := &gorillaConn{Conn: ws, out: make(chan []byte, 16), pings: make(chan struct{}, 1)}
	ws.SetPongHandler(func(string) error { c.Pong(); return nil })
	if conns.Track(c, &c.Entry) != nil {
		return
	}
	defer conns.Untrack(&c.Entry)
	defer close(c.out)
	go c.write()
	for {
		_, message, err := ws.ReadMessage() // this also handles pongs
		if err != nil {
			return
		}
		c.TouchRead()
		c.out <- message
	}
}

func (c *gorillaConn) write() {
	defer func() {
		c.Close()
		for range c.out { // until the reader has noticed
		}
	}()
	for {
		kind, message, ok := websocket.TextMessage, []byte(nil), true
		select {
		case message, ok = <-c.out:
		case <-c.pings:
			kind = websocket.PingMessage
		}
		c.SetWriteDeadline(time.Now().Add(10 * time.Second)) // gorilla's writes have no other limit
		if !ok || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}
