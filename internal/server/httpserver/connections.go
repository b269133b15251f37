package httpserver

import (
	"container/list"
	"context"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/idle"
	"github.com/foliot/foliot/internal/tokenbucket"
)

const (
	// connAge is how long a client's connection is used, roughly. When a client
	// connects again, a balancer can choose another server, and no connection is
	// used long after its certificate expired. Up to a tenth of it is subtracted at
	// random, so that clients that connected together do not reconnect together.
	connAge = time.Hour
	// evictAfter is how long a new connection is safe from eviction, so that it can
	// send its first request. Otherwise a full server would close new connections
	// before they have sent a request.
	evictAfter = time.Second
	// evictRetry is the interval at which a full server tries to close a
	// connection.
	evictRetry = 50 * time.Millisecond
)

// connections holds the connections of clients, at most Config.MaxConnections.
// Package idle watches them. A full server closes the connections that were unused
// for the longest time, several at once to make room for the next ones. It closes a
// connection with a request under way only if no request on it was authenticated,
// because clients without a token must not keep out clients that have one.
type connections struct {
	group *idle.Group[net.Conn]

	// exempt reports whether an address is a proxy. The bounds for one address or
	// one connection do not apply to a proxy, because it carries the requests of
	// many clients. exempt must be set before the first connection.
	exempt func(netip.Addr) bool

	mu              sync.Mutex                // guards unauthenticated and byAddr
	unauthenticated list.List                 // of *clientConn; the oldest first
	byAddr          map[netip.Addr]*strangers // the same by address, or by /64 for IPv6, without exempt ones

	slots chan struct{} // one element for each open connection, and one for the next connection while Accept waits
	batch int           // the number of connections closed at once to make room

	// Written by Accept and leave, read for each reply.
	crowded  atomic.Bool // all slots are taken, and no connection could be closed to make room
	stopping atomic.Bool // the server is stopping
}

// watchConnections watches the connections of srv, and must be called before srv
// serves. A listener of listen accepts at most limit connections. timeout is how
// long a connection may be idle, and srv.ReadHeaderTimeout bounds the wait for the
// first request.
func watchConnections(srv *http.Server, limit int, timeout time.Duration) *connections {
	c := &connections{
		slots: make(chan struct{}, limit), batch: max(1, limit/32),
		exempt: func(netip.Addr) bool { return false }, byAddr: map[netip.Addr]*strangers{},
	}
	c.group = idle.New(idle.Config{AllIdle: timeout, Resolution: time.Second}, c.judge)
	srv.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, clientOf(conn))
	}
	idle.WatchServer(srv, c.group)
	return c
}

// judge decides whether the group closes conn for the reason why.
func (c *connections) judge(conn net.Conn, why idle.Reason) idle.Verdict {
	client := clientOf(conn)
	if why == idle.Evicted && client != nil && time.Since(client.born) < evictAfter {
		return idle.Keep()
	}
	return idle.Close()
}

// markLastReplies adds "Connection: close" to a reply if the server is stopping or
// full, or if the connection is old. In HTTP/2 the header becomes a GOAWAY, after
// which the client starts no request that would be cut off.
//
// Package idle must not end old connections, because it could close them while the
// next request is on its way. It would also never close connections of HTTP/2 that
// always have a request under way.
func (c *connections) markLastReplies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, _ := r.Context().Value(connKey{}).(*clientConn)
		if c.stopping.Load() || c.crowded.Load() || client != nil && time.Now().After(client.retireAt) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// leave makes each reply from now on the last one of its connection.
func (c *connections) leave() { c.stopping.Store(true) }

// close stops watching, but closes no connection, because that is the job of the
// server's Shutdown.
func (c *connections) close() { c.group.Close() }

// listen returns l with a bound on its connections.
func (c *connections) listen(l net.Listener) net.Listener {
	return &boundListener{Listener: l, conns: c, closed: make(chan struct{})}
}

// boundListener accepts connections while there is room, and makes room.
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

// Close ends an Accept that waits for room.
func (l *boundListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// enter waits for a slot, and closes connections to make room if none is free. It
// returns false when the listener is closed.
func (c *connections) enter(closed <-chan struct{}) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	default:
	}
	retry := time.Tick(evictRetry)
	defer c.crowded.Store(false)
	for {
		c.crowded.Store(c.evictUnauthenticated(c.batch)+c.group.EvictIdlest(c.batch) == 0)
		select {
		case c.slots <- struct{}{}:
			return true
		case <-closed:
			return false
		case <-retry:
		}
	}
}

// take returns conn, which has a slot, as an unauthenticated connection.
func (c *connections) take(conn net.Conn) *clientConn {
	now := time.Now()
	client := &clientConn{Conn: conn, born: now, retireAt: now.Add(connAge - rand.N(connAge/10)), gone: make(chan struct{}), authenticated: make(chan struct{})}
	addr, known := addressOf(client)
	client.exempt = known && c.exempt(addr)
	evicted := c.add(client)
	client.freeSlot = sync.OnceFunc(func() {
		close(client.gone)
		client.markAuthenticated()
		<-c.slots
	})
	if evicted != nil {
		_ = evicted.Close() // no caller could use the error
	}
	return client
}

// maxUnauthenticated bounds the unauthenticated connections of one address. It is
// enough for clients with a token, because their first request authenticates them
// within milliseconds.
const maxUnauthenticated = 1024

// sentBurst and sentRate bound the bytes that are read from one unauthenticated
// connection, at once and per second. A first request has only a few kilobytes.
// Without the bound, many short frames of HTTP/2 could use up the processor.
const sentBurst, sentRate = 32 << 10, 16 << 10

// strangers are the unauthenticated connections of one address, apart by whether
// they have sent anything.
type strangers struct{ silent, heard list.List } // of *clientConn; the oldest first

// add records an unauthenticated connection. If its address has too many, add
// returns the one to close: the oldest of the others that have sent nothing, or
// else the first that has sent something.
func (c *connections) add(client *clientConn) (evicted *clientConn) {
	addr, bound := addressOf(client)
	bound = bound && !client.exempt
	addr = tokenbucket.ClientOf(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.unauthenticated.PushBack(client)
	var same *strangers
	var among *list.Element
	if bound {
		if same = c.byAddr[addr]; same == nil {
			same = new(strangers)
			c.byAddr[addr] = same
		}
		among = same.silent.PushBack(client)
		if same.silent.Len()+same.heard.Len() > maxUnauthenticated {
			oldest := same.silent.Front()
			if same.silent.Len() == 1 { // only client itself
				oldest = same.heard.Front()
			}
			evicted = oldest.Value.(*clientConn)
		}
	}
	authenticated := false
	client.markHeard = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if same != nil && !authenticated {
			same.silent.Remove(among)
			among = same.heard.PushBack(client)
		}
	})
	client.markAuthenticated = sync.OnceFunc(func() {
		close(client.authenticated)
		c.mu.Lock()
		defer c.mu.Unlock()
		authenticated = true
		c.unauthenticated.Remove(place)
		if same == nil {
			return
		}
		same.silent.Remove(among)
		same.heard.Remove(among)
		if same.silent.Len()+same.heard.Len() == 0 && c.byAddr[addr] == same {
			delete(c.byAddr, addr)
		}
	})
	return evicted
}

// Authenticated records that a request with this context was authenticated.
func Authenticated(ctx context.Context) {
	if client, ok := ctx.Value(connKey{}).(*clientConn); ok && client != nil {
		client.markAuthenticated()
	}
}

// evictUnauthenticated closes up to limit unauthenticated connections that are
// older than evictAfter, the oldest first, even if requests are under way. It
// returns their number.
func (c *connections) evictUnauthenticated(limit int) int {
	c.mu.Lock()
	var leaving []*clientConn
	for e := c.unauthenticated.Front(); e != nil && len(leaving) < limit; e = e.Next() {
		client := e.Value.(*clientConn)
		if time.Since(client.born) < evictAfter {
			break
		}
		leaving = append(leaving, client)
	}
	c.mu.Unlock()
	for _, client := range leaving {
		_ = client.Close() // no caller could use the error
	}
	return len(leaving)
}

// clientConn is a client's connection, which frees its slot when it is closed.
type clientConn struct {
	net.Conn
	born, retireAt    time.Time // when it was accepted; the first reply after retireAt ends the connection
	exempt            bool      // see connections.exempt
	markHeard         func()    // the client has sent something
	markAuthenticated func()    // marks the connection as authenticated
	freeSlot          func()
	gone              chan struct{}      // closed when the connection is closed
	authenticated     chan struct{}      // closed when the connection is authenticated
	sent              tokenbucket.Bucket // bytes before the authentication; only Read uses it
}

// Close closes the connection, and may be called twice.
func (c *clientConn) Close() error {
	defer c.freeSlot()
	return c.Conn.Close()
}

// Read receives into b, and delays an unauthenticated client that sends too much.
func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.markHeard()
		c.throttle(n)
	}
	return n, err
}

// throttle waits, after n bytes from an unauthenticated client, until its rate
// allows them, or until the client is authenticated or the connection is closed.
func (c *clientConn) throttle(n int) {
	select {
	case <-c.authenticated:
		return
	default:
	}
	tooMany := c.sent.Overdraw(time.Now(), n, sentRate, math.Inf(1)) - sentBurst
	if tooMany <= 0 || c.exempt {
		return
	}
	select {
	case <-time.After(time.Duration(tooMany / sentRate * float64(time.Second))):
	case <-c.authenticated:
	case <-c.gone:
	}
}

// CloseWrite ends sending to the client. net/http calls it before Close, so that a
// client that still sends can read the reply.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// addressOf returns the address of the peer, or false if there is none.
func addressOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	return tcp.AddrPort().Addr().Unmap().WithZone(""), true
}

type connKey struct{}

// clientOf returns the clientConn that conn is or wraps with TLS, or nil if
// boundListener did not accept it.
func clientOf(conn net.Conn) *clientConn {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	client, _ := conn.(*clientConn)
	return client
}
