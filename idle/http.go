package idle

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// WatchServer makes a group watch the connections of a server: HTTP/1 and
// HTTP/2, with and without TLS. Call it before the server serves, and after its
// Handler is set. It sets s.ConnState, s.ConnContext and s.Handler to functions
// that also call the previous ones. It wraps no connection, request or reply:
// The callback gets the connection that the server has, a *tls.Conn with TLS.
// The server's own timeouts stay in force.
//
// A connection is used when a request begins and when it ends. In between it is
// busy: it counts as used, and MaxAge and evictions wait for the end. So
// ReadIdle, WriteIdle and AllIdle limit the time between requests, as
// http.Server's IdleTimeout does.
//
// With Config.Activity Kernel, a request does not keep the connection. The
// callback is also called if the bodies stall in both directions for AllIdle.
// It is called too if the handler only computes or waits for that long, so
// AllIdle must be longer. MaxAge and evictions still wait. If the kernel cannot
// be read, requests are busy as with Touch.
//
// After a handler of HTTP/1 has returned, net/http reads the rest of a short
// body before the request ends. The rest must arrive within 5 s, or the server
// replies without it and closes the connection. With Server.ReadTimeout, that
// limit holds instead.
//
// The first request must begin within Handshake. With Activity Kernel, the
// first byte must come within it. With HTTP/2 all requests of a connection
// count together.
//
// A hijacked connection, such as a WebSocket, is no longer watched: track it
// with another group, or with NewConn. The group closes the connection
// directly, over TLS without a close_notify. A connection that arrives while
// the group is closed or draining is closed.
func WatchServer(s *http.Server, g *Group[net.Conn]) {
	if s == nil || g == nil {
		panic("idle: WatchServer without a server or a group")
	}
	h := &httpConns{group: g, next: s.ConnState, context: s.ConnContext, server: s, handler: s.Handler}
	s.ConnState, s.ConnContext, s.Handler = h.changed, h.connContext, h
}

// unreadWait is the time for the rest of a body after its handler has returned.
const unreadWait = 5 * time.Second

// httpConns watches the connections of a server.
type httpConns struct {
	group *Group[net.Conn]
	all   sync.Map // of net.Conn to *httpConn

	server  *http.Server
	next    func(net.Conn, http.ConnState) // the previous hooks and handler; each may be nil
	context func(context.Context, net.Conn) context.Context
	handler http.Handler
}

// connContext adds the connection to its context, with h as its key.
func (h *httpConns) connContext(ctx context.Context, c net.Conn) context.Context {
	if h.context != nil {
		ctx = h.context(ctx, c)
	}
	return context.WithValue(ctx, h, c)
}

// ServeHTTP calls the handler. Then it limits the time for which net/http waits
// for the rest of the body.
func (h *httpConns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := h.handler
	if handler == nil {
		handler = http.DefaultServeMux
	}
	handler.ServeHTTP(w, r)
	if r.ProtoMajor > 1 || r.ContentLength == 0 || h.server.ReadTimeout > 0 {
		return
	}
	c, _ := r.Context().Value(h).(net.Conn)
	if _, ours := h.all.Load(c); !ours { // it is hijacked
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(unreadWait))
	if r.ContentLength < 0 || r.Header.Get("Expect") != "" {
		return // Read might wait for the client, or ask it to continue
	}
	if _, err := r.Body.Read(nil); err == io.EOF { // then the server reads ahead, which must not time out
		_ = c.SetReadDeadline(time.Time{})
	}
}

type httpConn struct {
	Entry
	busy atomic.Bool // the server calls the hook for one state after another, from several goroutines
}

func (h *httpConns) changed(c net.Conn, state http.ConnState) {
	h.follow(c, state)
	if h.next != nil {
		h.next(c, state)
	}
}

func (h *httpConns) follow(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		h.begin(c)
		return
	}
	found, ok := h.all.Load(c)
	if !ok {
		return
	}
	switch e := found.(*httpConn); state {
	case http.StateActive:
		e.TouchRead()
		if !e.busy.Swap(true) {
			h.group.busy(&e.Entry)
		}
	case http.StateIdle:
		e.TouchRead()
		e.TouchWrite()
		if e.busy.Swap(false) {
			h.group.unbusy(&e.Entry)
		}
	case http.StateHijacked: // the handler goes on: ignore a Close that the callback is about to return
		h.all.Delete(c)
		h.group.untrack(&e.Entry, untracked|handed)
	case http.StateClosed:
		h.all.Delete(c)
		h.group.Untrack(&e.Entry)
	}
}

func (h *httpConns) begin(c net.Conn) {
	var raw syscall.RawConn
	if h.group.kernel {
		raw, _ = rawOf(c) // without it, requests are busy
	}
	e := new(httpConn)
	h.all.Store(c, e)
	if err := h.group.track(c, &e.Entry, raw); err != nil {
		h.all.Delete(c)
		hangUp(c)
	}
}
