package idle

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
)

// WatchServer has a group watch the connections of a server, of HTTP/1 and HTTP/2, with TLS and without. It sets s.ConnState, to a function
// that calls the one that was there, and must be called before the server serves. It wraps nothing: what `on` gets is what the server
// has, a *tls.Conn where TLS is spoken. The server's own timeouts stay as they are; what ends a connection first, does.
//
// A connection is used when a request begins and when it has ended, and in between it is busy: it counts as used, and MaxAge and
// evictions wait for the end. So ReadIdle, WriteIdle and AllIdle are the time between requests, like http.Server's IdleTimeout. With
// Config.Activity Kernel a request is no excuse: one whose bodies stall in both directions for AllIdle is asked about too, and so is
// one whose handler merely computes or waits for that long, so AllIdle has to be longer than that. MaxAge and evictions still wait;
// where the kernel can't be asked, requests are busy as without it. A first request must have begun within Handshake; with Activity
// Kernel, a first byte must have come. Over HTTP/2 all this is true of a connection's requests together.
//
// A hijacked connection, such as a WebSocket's, is no longer watched: track it with another group, or with NewConn. The group closes
// directly, and over TLS without a close_notify. A connection that comes when the group is closed or draining is closed.
func WatchServer(s *http.Server, g *Group[net.Conn]) {
	if s == nil || g == nil {
		panic("idle: WatchServer without a server or a group")
	}
	h := &httpConns{group: g, next: s.ConnState}
	s.ConnState = h.changed
}

// httpConns watches the connections of a server.
type httpConns struct {
	group *Group[net.Conn]
	next  func(net.Conn, http.ConnState) // the hook that was there; may be nil
	all   sync.Map                       // of net.Conn to *httpConn
}

type httpConn struct {
	Entry
	busy atomic.Bool // the server calls the hook for one state after the other, from several goroutines
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
	case http.StateHijacked: // by somebody who goes on: a verdict to close that `on` is about to give is void
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
		raw, _ = rawOf(c) // or requests are busy
	}
	e := new(httpConn)
	h.all.Store(c, e)
	if err := h.group.track(c, &e.Entry, raw); err != nil {
		h.all.Delete(c)
		hangUp(c)
	}
}
