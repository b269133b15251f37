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
	patience  = 10 * time.Second // time for the network to take a message
	longWords = 4 << 10          // bytes of a message
)

// client is a WebSocket connection. One goroutine reads, another writes. No
// other goroutine waits for the network.
type client struct {
	idle.Entry
	name    string
	socket  *websocket.Conn
	end     context.CancelFunc // closes the socket at once
	out     chan string        // messages to the client, which is closed if this is full
	last    chan goodbye       // holds a single goodbye
	left    atomic.Bool        // a goodbye is queued
	pinging atomic.Bool        // a ping is under way
}

// goodbye is the content of a close frame.
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

// read passes on messages. While it runs, the library also handles pings and
// pongs, within Read.
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
			for len(c.out) > 0 && c.put(ctx, <-c.out) { // earlier messages go first
			}
			c.socket.Close(g.code, g.reason) // waits for the answer, at most 5 s
			return
		case <-ctx.Done():
			return
		}
	}
}

// put sends a message. The library closes a client that does not take it in
// time.
func (c *client) put(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.socket.Write(ctx, websocket.MessageText, []byte(text)) == nil
}

// hear queues a message without waiting.
func (c *client) hear(text string) {
	select {
	case c.out <- text:
	default:
		c.Close()
	}
}

// leave queues a goodbye without waiting. It returns false if there was one
// already.
func (c *client) leave(code websocket.StatusCode, reason string) bool {
	if c.left.Swap(true) {
		return false
	}
	c.last <- goodbye{code, reason}
	return true
}

// ping sends a ping. The library's Ping waits for room in the socket, and then
// for the pong. So it runs on a separate goroutine, at most one for each
// client. Its result is not used: OnPongReceived reports the pong, and a
// message counts like a pong.
func (c *client) ping(wait time.Duration) {
	defer c.pinging.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c.socket.Ping(ctx)
}

// Close closes the socket at once, without waiting: the group calls it on a
// worker. The library's CloseNow may wait for a goodbye under way.
func (c *client) Close() error {
	c.end()
	return nil
}
