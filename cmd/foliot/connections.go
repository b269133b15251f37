package main

import (
	"container/list"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/idle"
)

const (
	// connAge is about how long a client's connection is used: those behind a
	// balancer spread anew, and none outlives a certificate for long. Up to a
	// tenth less, so that those that came together do not come back together.
	connAge = time.Hour
	// evictAfter is how long a new connection has for its first request before it
	// may have to go: else a full server would close who has just come.
	evictAfter = time.Second
	// evictRetry is how often a full server looks for a connection that can go.
	evictRetry = 50 * time.Millisecond
)

// connections are the clients' connections to the API: no more than there are
// descriptors for, watched by package idle. A full server closes those that
// nobody used for the longest time, a few at once so that the next ones find
// room. One with a request under way goes for that only where nobody was let in
// on it: who shows no token must not keep out those who have one.
type connections struct {
	group *idle.Group[net.Conn]

	mu        sync.Mutex // guards strangers
	strangers list.List  // of *clientConn, on which nobody was let in yet; the oldest first

	slots chan struct{} // has an element for each connection, and for the one that is awaited
	batch int           // how many are closed to make room

	// Written by Accept and leave, read for each reply.
	crowded atomic.Bool // a newcomer waits, and everybody has a request under way
	going   atomic.Bool // the server stops
}

// watchConnections bounds the connections of srv, which must not serve yet, to
// most. timeout is how long one may be without a request; how long its first
// one may take is srv.ReadHeaderTimeout's.
func watchConnections(srv *http.Server, most int, timeout time.Duration) *connections {
	c := &connections{slots: make(chan struct{}, most), batch: max(1, most/32)}
	c.group = idle.New(idle.Config{AllIdle: timeout, Resolution: time.Second}, c.judge)
	srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, clientOf(conn))
	}
	idle.HTTP(srv, c.group)
	return c
}

// judge is asked by the group about a connection.
func (c *connections) judge(conn net.Conn, why idle.Reason) idle.Verdict {
	client := clientOf(conn)
	if why == idle.Evicted && client != nil && time.Since(client.born) < evictAfter {
		return idle.Keep
	}
	return idle.Close
}

// saysGoodbye has each reply that is its connection's last say so, which over
// HTTP/2 becomes a GOAWAY: the client then begins no request that would be cut
// off. Old connections end so, and not by package idle, which would close them
// while the next request may be on its way, and never those of HTTP/2 that
// always have a request under way.
func (c *connections) saysGoodbye(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, _ := r.Context().Value(connKey{}).(*clientConn)
		if c.going.Load() || c.crowded.Load() || client != nil && time.Now().After(client.last) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// leave makes every reply its connection's last, from now on.
func (c *connections) leave() { c.going.Store(true) }

// close forgets what is still watched; whoever shuts the server down closes it.
func (c *connections) close() { c.group.Close() }

// listen returns l with the bound on its connections.
func (c *connections) listen(l net.Listener) net.Listener {
	return &boundListener{Listener: l, conns: c, closed: make(chan struct{})}
}

// boundListener accepts while there is room, and makes room.
type boundListener struct {
	net.Listener
	conns  *connections
	closed chan struct{}
	once   sync.Once // closes closed
}

// Accept waits for room and for a connection.
func (l *boundListener) Accept() (net.Conn, error) {
	if !l.conns.enter(l.closed) {
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.conns.slots
		return nil, err
	}
	return l.conns.take(conn), nil
}

// Close ends Accept too where it waits for room.
func (l *boundListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// enter takes a slot, having closed others where none is free. It returns false
// when closed is.
func (c *connections) enter(closed <-chan struct{}) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
	}
	retry := time.NewTicker(evictRetry)
	defer retry.Stop()
	defer c.crowded.Store(false)
	for {
		c.crowded.Store(c.dismiss(c.batch)+c.group.EvictIdlest(c.batch) == 0)
		select {
		case c.slots <- struct{}{}:
			return true
		case <-closed:
			return false
		case <-retry.C:
		}
	}
}

// take returns conn as a stranger's connection, which has a slot.
func (c *connections) take(conn net.Conn) *clientConn {
	now := time.Now()
	client := &clientConn{Conn: conn, born: now, last: now.Add(connAge - rand.N(connAge/10))}
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.strangers.PushBack(client)
	client.meet = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.strangers.Remove(place)
	})
	client.leave = sync.OnceFunc(func() {
		client.meet()
		<-c.slots
	})
	return client
}

// welcome notes that somebody was let in on the connection of a request's context.
func welcome(ctx context.Context) {
	if client, ok := ctx.Value(connKey{}).(*clientConn); ok && client != nil {
		client.meet()
	}
}

// dismiss closes at most most of the strangers' connections, the oldest first,
// whatever goes on there, and returns how many those were.
func (c *connections) dismiss(most int) int {
	c.mu.Lock()
	var leaving []*clientConn
	for e := c.strangers.Front(); e != nil && len(leaving) < most; e = e.Next() {
		client := e.Value.(*clientConn)
		if time.Since(client.born) < evictAfter {
			break
		}
		leaving = append(leaving, client)
	}
	c.mu.Unlock()
	for _, client := range leaving {
		_ = client.Close() // nobody is there to be told
	}
	return len(leaving)
}

// clientConn is a client's connection. It gives its slot back when it is closed.
type clientConn struct {
	net.Conn
	born, last time.Time // the first reply after last is the connection's last
	meet       func()    // its client is a stranger no longer
	leave      func()
}

// Close closes the connection. Twice is fine.
func (c *clientConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite says that nothing more will be sent: net/http does so before it
// closes, so that a client that is still sending reads why.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connKey struct{}

// clientOf returns the connection beneath conn, or beneath its TLS; nil for one
// that boundListener did not accept.
func clientOf(conn net.Conn) *clientConn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	client, _ := conn.(*clientConn)
	return client
}
