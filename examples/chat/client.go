package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/foliot/foliot/idle"
)

const (
	backlog   = 64               // messages that may wait for a client
	patience  = 10 * time.Second // for the network to take a message
	longWords = 4 << 10          // bytes of a message
)

// client is somebody with a WebSocket. A goroutine reads, another writes; nobody else waits for the network.
type client struct {
	idle.Entry
	name    string
	socket  *websocket.Conn
	end     context.CancelFunc // has the socket closed at once
	out     chan string        // what it is told; whoever lets it fill up is dropped
	last    chan goodbye       // holds the only one
	left    atomic.Bool        // a goodbye was chosen
	pinging atomic.Bool        // a ping is under way
}

// goodbye is what a close frame says.
type goodbye struct {
	code   websocket.StatusCode
	reason string
}

func newClient(name string) *client {
	if name == "" {
		name = "somebody"
	}
	return &client{name: name, out: make(chan string, backlog), last: make(chan goodbye, 1)}
}

// serve reads and writes until the connection ends.
func (c *client) serve(ctx context.Context, say func(string)) {
	var writing sync.WaitGroup
	writing.Go(func() { c.write(ctx) })
	c.read(ctx, say)
	c.end()
	writing.Wait()
}

// read hands on what comes. While it runs, pings and pongs are handled: the library does so within Read.
func (c *client) read(ctx context.Context, say func(string)) {
	c.socket.SetReadLimit(longWords)
	for {
		_, text, err := c.socket.Read(ctx)
		if err != nil {
			return
		}
		c.TouchRead()
		say(c.name + ": " + string(text))
	}
}

func (c *client) write(ctx context.Context) {
	for {
		select {
		case text := <-c.out:
			if !c.put(ctx, text) {
				return
			}
		case g := <-c.last:
			for len(c.out) > 0 && c.put(ctx, <-c.out) { // what was said before comes before
			}
			c.socket.Close(g.code, g.reason) // waits for the answer, 5 s at most
			return
		case <-ctx.Done():
			return
		}
	}
}

// put sends a message. A client that does not take it in time is closed by the library.
func (c *client) put(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.socket.Write(ctx, websocket.MessageText, []byte(text)) == nil
}

// hear queues a message, without waiting.
func (c *client) hear(text string) {
	select {
	case c.out <- text:
	default:
		c.Close()
	}
}

// leave queues a goodbye, without waiting. It returns false if there was one already.
func (c *client) leave(code websocket.StatusCode, reason string) bool {
	if c.left.Swap(true) {
		return false
	}
	c.last <- goodbye{code, reason}
	return true
}

// ping sends a ping. Ping of this library waits for the pong, and before that, if the socket is full, for room in it: so it runs on a
// goroutine that lives as long as the ping, and of which a client has one at most. What counts is not its result: the pong is reported
// by OnPongReceived, and a message says as much.
func (c *client) ping(wait time.Duration) {
	defer c.pinging.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c.socket.Ping(ctx)
}

// Close closes the socket at once, without waiting for anything: the group calls it on a worker. CloseNow of the library may wait
// for a goodbye under way.
func (c *client) Close() error {
	c.end()
	return nil
}
