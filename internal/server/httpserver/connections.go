package httpserver

import (
	"container/list"
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
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

	// exempt reports whether an address passes the connections of many clients on,
	// so that no bound for one address applies. Set before the first connection.
	exempt func(netip.Addr) bool

	mu        sync.Mutex                // guards strangers and byAddr
	strangers list.List                 // of *clientConn, not authenticated yet; the oldest first
	byAddr    map[netip.Addr]*list.List // the same by network, without those exempt

	handshakes chan struct{} // has an element for each TLS handshake that computes

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
	c := &connections{
		slots: make(chan struct{}, most), batch: max(1, most/32),
		exempt: func(netip.Addr) bool { return false }, byAddr: map[netip.Addr]*list.List{},
		handshakes: newHandshakes(),
	}
	c.group = idle.New(idle.Config{AllIdle: timeout, Resolution: time.Second}, c.judge)
	srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, clientOf(conn))
	}
	idle.WatchServer(srv, c.group)
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
		if client != nil && !client.exempt && r.ProtoMajor == 2 && r.Context().Err() != nil {
			client.tookBack(time.Now())
		}
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
	client := &clientConn{Conn: conn, born: now, last: now.Add(connAge - rand.N(connAge/10)), gone: make(chan struct{}), known: make(chan struct{}), handshakes: c.handshakes}
	addr, known := addressOf(client)
	client.exempt = known && c.exempt(addr)
	leaves := c.meet(client)
	client.leave = sync.OnceFunc(func() {
		close(client.gone)
		client.meet()
		<-c.slots
	})
	if leaves != nil {
		_ = leaves.Close() // there is no reader of the error
	}
	return client
}

// meet notes a stranger. If its address has too many, it returns the one that leaves: the oldest, or
// client itself while the oldest is new. Thousands of clients of one address that reconnect at
// once would otherwise end each other just before their first request.
func (c *connections) meet(client *clientConn) (leaves *clientConn) {
	addr, bound := addressOf(client)
	bound = bound && !client.exempt
	addr = networkOf(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.strangers.PushBack(client)
	var same *list.List
	var among *list.Element
	if bound {
		if same = c.byAddr[addr]; same == nil {
			same = list.New()
			c.byAddr[addr] = same
		}
		among = same.PushBack(client)
		if same.Len() > maxStrangers {
			if leaves = same.Front().Value.(*clientConn); time.Since(leaves.born) < evictAfter {
				leaves = client
			}
		}
	}
	client.meet = sync.OnceFunc(func() {
		close(client.known)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.strangers.Remove(place)
		if same == nil {
			return
		}
		if same.Remove(among); same.Len() == 0 && c.byAddr[addr] == same {
			delete(c.byAddr, addr)
		}
	})
	return leaves
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
	exempt     bool      // see connections.exempt
	meet       func()    // its client is a stranger no longer
	leave      func()
	gone       chan struct{} // closed when it is closed
	known      chan struct{} // closed when its client is a stranger no longer
	sent       spending      // of a stranger; for Read alone

	handshakes chan struct{} // connections.handshakes
	computing  atomic.Bool   // its handshake has an element there

	mu     sync.Mutex // guards resets
	resets spending   // requests that were taken back
}

// Close closes the connection. Twice is fine.
func (c *clientConn) Close() error {
	defer c.leave()
	defer c.computed()
	return c.Conn.Close()
}

// Read receives into b. A stranger that sends too much has to wait.
func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.hinder(n)
	return n, err
}

// Write sends b. The first write of a handshake ends its computation.
func (c *clientConn) Write(b []byte) (int, error) {
	c.computed()
	return c.Conn.Write(b)
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
