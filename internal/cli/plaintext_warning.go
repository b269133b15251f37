package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"

	"github.com/foliot/foliot/internal/cli/wording"
)

// exposure warns, once a command, before a token leaves this machine over plain
// HTTP. It judges the connection, not the server's name: a name of this machine
// needs no warning, and "localhost" may be another machine's.
type exposure struct {
	next  http.RoundTripper
	proxy func(*http.Request) (*url.URL, error) // as next asks it
	notes io.Writer
	once  sync.Once
}

// RoundTrip implements http.RoundTripper.
func (e *exposure) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.Header.Get("Authorization") == "" {
		return e.next.RoundTrip(req)
	}
	if proxy, err := e.proxy(req); err == nil && proxy != nil { // plain HTTP goes through it as it is, and on from there
		e.warn(req)
		return e.next.RoundTrip(req)
	}
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { // nothing is written yet
		if tcp, ok := got.Conn.RemoteAddr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			e.warn(req)
		}
	}}
	return e.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
}

func (e *exposure) warn(req *http.Request) {
	e.once.Do(func() {
		fmt.Fprintf(e.notes, "foliot: warning: the access token goes to %s over plain HTTP, where others on the network can read it: use https://, or a tunnel to 127.0.0.1\n", wording.Printable(req.URL.Host))
	})
}
