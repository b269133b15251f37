package main

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	"github.com/coder/websocket"
	"github.com/foliot/foliot/idle"
)

// room has all connected clients.
type room struct {
	config  config
	clients *idle.Group[*client]
	serving sync.WaitGroup // handlers and pings
}

func newRoom(c config) *room {
	r := &room{config: c}
	// With PingEvery, only data from a client counts as activity. Without
	// ReadIdle and AllIdle, a client can be silent and stay connected.
	r.clients = idle.New(idle.Config{PingEvery: cmp.Or(c.ping, idle.Never), PongWait: c.pong, MaxMissed: c.missed}, r.judge)
	return r
}

// judge is called by one of a few workers for all clients: it must not wait for
// any client.
func (r *room) judge(c *client, why idle.Reason) idle.Verdict {
	switch why {
	case idle.Ping:
		if c.pinging.CompareAndSwap(false, true) { // otherwise the last ping is not sent yet, and this one will be missed as well
			r.serving.Go(func() { c.ping(r.config.pong) })
		}
		return idle.Keep
	case idle.Evicted:
		if c.leave(websocket.StatusGoingAway, "the server ends: please connect again") {
			return idle.KeepFor(r.config.goodbye) // when the client has answered, its handler ends the watch
		}
	}
	return idle.Close // calls c.Close
}

// empty sends every client a goodbye and waits until all have left.
func (r *room) empty(ctx context.Context) error {
	err := r.clients.Drain(ctx, r.config.spread)
	r.clients.Close()
	r.serving.Wait()
	return err
}

// say sends a message to every client.
func (r *room) say(text string) {
	for c := range r.clients.All() {
		c.hear(text)
	}
}

// join upgrades a request to a WebSocket, and serves the client until it
// leaves.
func (r *room) join(w http.ResponseWriter, request *http.Request) {
	r.serving.Add(1)
	defer r.serving.Done()
	c := newClient(request.FormValue("name"))
	socket, err := websocket.Accept(w, request, &websocket.AcceptOptions{
		OnPingReceived: func(context.Context, []byte) bool { c.TouchRead(); return true },
		OnPongReceived: func(context.Context, []byte) { c.Pong() },
	})
	if err != nil {
		return // Accept has sent the client an error
	}
	defer socket.CloseNow()
	ctx, end := context.WithCancel(context.Background()) // the request's context may end with the handshake
	defer end()
	c.socket, c.end = socket, end
	if err := r.clients.Track(c, &c.Entry); err != nil {
		socket.Close(websocket.StatusTryAgainLater, "the server ends: please connect again")
		return
	}
	defer r.clients.Untrack(&c.Entry)
	c.hear("welcome, " + c.name)
	c.serve(ctx, r.say)
}
