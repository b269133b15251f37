package browser

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// If the machine is busy, a reply can begin before the proxy has read to the end of the
// request.
func TestTheProxyForwardsAWholeReplyThoughItBeginsEarly(t *testing.T) {
	t.Parallel()
	late := &lateEnd{began: make(chan struct{}), read: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-late.read
		_, _ = w.Write(make([]byte, 1<<20))
	}))
	defer server.Close()
	forward := newProxy(func() string { return server.URL })
	forward.Transport = &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		late.forwarded.Store(true)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context())
		late.ReadCloser, r.Body = r.Body, late
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	reply, err := http.Post(proxy.URL, "application/json", strings.NewReader("{}"))
	noError(t, err)
	defer reply.Body.Close()
	close(late.began)
	if n, err := io.Copy(io.Discard, reply.Body); n != 1<<20 || err != nil {
		t.Errorf("%d bytes arrived: %v", n, err)
	}
}

// lateEnd is a body whose end is read only after the reply has begun, if the request is
// forwarded by then.
type lateEnd struct {
	io.ReadCloser
	forwarded atomic.Bool
	taken     bool          // the body was read, but not its end
	began     chan struct{} // closed when the client has the head of the reply
	read      chan struct{} // closed when the end was read
}

func (b *lateEnd) Read(p []byte) (int, error) {
	if !b.taken {
		b.taken = true
		n, _ := b.ReadCloser.Read(p)
		return n, nil
	}
	if b.forwarded.Load() {
		<-b.began
	}
	defer close(b.read)
	return b.ReadCloser.Read(p)
}
