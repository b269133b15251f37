package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/wire"
)

// fakeRemote is a connection that reports a given remote address.
type fakeRemote struct {
	net.Conn
	at net.Addr
}

func (e fakeRemote) RemoteAddr() net.Addr { return e.at }

func TestATokenDoesNotLeaveTheMachineInClearUnnoticed(t *testing.T) {
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

// The address of a network interface is not loopback, although it belongs to this
// machine.
func TestACommandWarnsBeforeItSendsATokenInPlainText(t *testing.T) {
	var sent string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		if r.URL.Path != "/elsewhere" {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", wire.ProblemType)
		t.Error("the command follows a redirect, with its token")
	})
	for _, address := range []string{"127.0.0.1", ownAddress()} {
		if address == "" {
			t.Skip("NOT TESTED: this machine has no address but loopback")
		}
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
		srv.Start()
		_, errs, _ := (&session{t: t, server: srv.URL}).run("", "--token", "foliot_secret", "ls")
		srv.Close()
		if sent == "" || strings.Contains(errs, "warning: the access token") != (address != "127.0.0.1") {
			t.Errorf("at %s it sends %q and prints %q", address, sent, errs)
		}
		_, errs, code := (&session{t: t, server: strings.Replace(srv.URL, "//", "//u:hush@", 1)}).run("", "ls")
		if code != exitUsage || strings.Contains(errs, "hush") {
			t.Errorf("a server's URL with a password: %d %q", code, errs)
		}
	}
}

// ownAddress returns an address of this machine that is not loopback, or "".
func ownAddress() string {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	return ""
}
