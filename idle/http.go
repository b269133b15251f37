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
// Handler is set, because it sets s.ConnState, s.ConnContext and s.Handler to
// functions that also call the previous ones. It wraps no connection, request
// or reply, so the callback gets the connection that the server has, a
// *tls.Conn with TLS. The server's own timeouts stay in force.
//
// A connection is used when a request begins and when it ends. In between it is
// busy: it counts as used, and MaxAge and evictions wait for the end. So
// ReadIdle, WriteIdle and AllIdle limit the time between requests, as
// http.Server's IdleTimeout does.
//
// With Config.Activity Kernel, a request does not keep the connection, but
// MaxAge and evictions still wait. The callback is also called if the bodies
// stall in both directions for AllIdle, or if the handler only computes or
// waits for that long, so AllIdle must be longer. If the kernel cannot be read,
// requests are busy as with Touch.
//
// After a handler of HTTP/1 has returned, net/http reads the rest of a short
// body before the request ends. The rest must arrive within 5 s, or the server
// replies without it and closes the connection. Server.ReadTimeout replaces
// that limit. Only ReadTimeout and Activity Kernel limit a handler that closes
// the body, or writes more than 2 kB, before the body has arrived: net/http
// reads the rest in that call.
//
// The first request must begin within Handshake, or with Activity Kernel, the
// first byte must come. With HTTP/2 all requests of a connection count
// together.
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

// ServeHTTP calls the handler, and then limits the time for which net/http
// waits for the rest of the body.
func (h *httpConns) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 && h.server.ReadTimeout <= 0 {
		defer h.limitRest(r) // net/http reads the rest after a panic too
	}
	handler := h.handler
	if handler == nil {
		handler = http.DefaultServeMux
	}
	handler.ServeHTTP(w, r)
}

// limitRest lets reads from the connection fail after unreadWait, unless the
// request has ended by then.
func (h *httpConns) limitRest(r *http.Request) {
	if r.ContentLength > 0 && r.Header.Get("Expect") == "" { // otherwise Read might wait for the client, or ask it to continue
		if _, err := r.Body.Read(nil); err == io.EOF {
			return
		}
	}
	c, _ := r.Context().Value(h).(net.Conn)
	found, ok := h.all.Load(c)
	if !ok { // it is hijacked
		return
	}
	rest := new(restOfBody)
	rest.limit = time.AfterFunc(unreadWait, func() {
		if !rest.over.Swap(true) {
			_ = c.SetReadDeadline(time.Unix(1, 0))
		}
	})
	found.(*httpConn).rest.Store(rest)
}

// restOfBody is the rest of a body, which net/http reads after a handler has
// returned.
type restOfBody struct {
	over  atomic.Bool // the request has ended, or its time is up
	limit *time.Timer
}

type httpConn struct {
	Entry
	busy atomic.Bool // the server calls the hook for one state after another, from several goroutines
	rest atomic.Pointer[restOfBody]
}

// restIsLate ends the wait for the rest of a body, and reports whether its time
// was up. If so, the connection must not be used again, because the rest could
// still arrive and look like a request.
func (e *httpConn) restIsLate() bool {
	rest := e.rest.Swap(nil)
	if rest == nil {
		return false
	}
	rest.limit.Stop()
	return rest.over.Swap(true)
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
	e := found.(*httpConn)
	late := state != http.StateActive && e.restIsLate()
	switch state {
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
		if late {
			hangUp(c)
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
