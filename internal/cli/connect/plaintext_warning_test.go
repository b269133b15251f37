package connect

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// fakeRemote is a connection that reports a given remote address.
type fakeRemote struct {
	net.Conn
	at net.Addr
}

func (e fakeRemote) RemoteAddr() net.Addr { return e.at }

func TestATokenInPlainTextToAnotherMachineCausesOneWarning(t *testing.T) {
	var arrived int
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived++ }))
	defer srv.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	here, there := "127.0.0.1", "192.0.2.7"
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse(srv.URL) }
	for _, c := range []struct {
		name, url, token, address string
		proxy                     func(*http.Request) (*url.URL, error)
		warns                     bool
	}{
		{"loopback", srv.URL, "t", here, nil, false},
		{"IPv6 loopback", srv.URL, "t", "::1", nil, false},
		{"a name of this machine", "http://timers.example/", "t", here, nil, false},
		{"another machine", srv.URL, "t", there, nil, true},
		{"another machine called localhost", "http://localhost/", "t", there, nil, true},
		{"another machine, without a token", srv.URL, "", there, nil, false},
		{"another machine, by https", secure.URL, "t", there, nil, false},
		{"another machine, through a proxy here", "http://timers.example/", "t", here, proxy, true},
	} {
		transport := secure.Client().Transport.(*http.Transport).Clone()
		transport.Proxy = c.proxy
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			target := srv.Listener.Addr().String()
			if c.url == secure.URL {
				target = secure.Listener.Addr().String()
			}
			conn, err := new(net.Dialer).DialContext(ctx, network, target)
			return fakeRemote{conn, &net.TCPAddr{IP: net.ParseIP(c.address), Port: 80}}, err
		}
		asked := func(*http.Request) (*url.URL, error) { return nil, nil }
		if c.proxy != nil {
			asked = c.proxy
		}
		var notes bytes.Buffer
		client := &http.Client{Transport: &plaintextWarning{next: transport, proxy: asked, notes: &notes}}
		for range 3 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.token != "" {
				req.Header.Set("Authorization", "Bearer "+c.token)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			resp.Body.Close()
		}
		transport.CloseIdleConnections()
		if text := notes.String(); strings.Count(text, "\n") != map[bool]int{true: 1, false: 0}[c.warns] || c.warns && !strings.Contains(text, "https://") || strings.Contains(text, "Bearer") {
			t.Errorf("%s: it prints %q", c.name, text)
		}
	}
	if arrived == 0 {
		t.Error("no request arrived: the test proves nothing")
	}
}
