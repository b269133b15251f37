package connect

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

// plaintextWarning warns once before a token leaves this machine over plain
// HTTP. It checks the address of the connection, not the name of the server: a
// host name may resolve to loopback, and "localhost" may not.
type plaintextWarning struct {
	next  http.RoundTripper
	proxy func(*http.Request) (*url.URL, error) // the same function that next uses
	notes io.Writer
	once  sync.Once
}

// RoundTrip implements http.RoundTripper.
func (w *plaintextWarning) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.Header.Get("Authorization") == "" {
		return w.next.RoundTrip(req)
	}
	if proxy, err := w.proxy(req); err == nil && proxy != nil { // the proxy sees the token, and so does the network behind it
		w.warn(req)
		return w.next.RoundTrip(req)
	}
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { // called before the request is written
		if tcp, ok := got.Conn.RemoteAddr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			w.warn(req)
		}
	}}
	return w.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
}

func (w *plaintextWarning) warn(req *http.Request) {
	w.once.Do(func() {
		fmt.Fprintf(w.notes, "foliot: warning: the access token is sent to %s over plain HTTP and can be read on the network: use https://, or a tunnel to 127.0.0.1\n", wording.Printable(req.URL.Host))
	})
}
