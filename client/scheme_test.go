package client_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/fatal"
)

// HTTP to a TLS port, and TLS to an HTTP port, fail at once with a clear error.
func TestTheWrongSchemeIsNamed(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "<html><center>The plain HTTP request was sent to HTTPS port</center></html>")
	}))
	defer nginx.Close()
	for _, c := range []struct {
		name, url string
		want      error
	}{
		{"plain", "https" + strings.TrimPrefix(plain.URL, "http"), client.ErrNoTLS},
		{"TLS", "http" + strings.TrimPrefix(secure.URL, "https"), client.ErrSpeaksTLS},
		{"TLS of nginx", nginx.URL, client.ErrSpeaksTLS},
		{"an alert", "http://" + saying(t, "\x15\x03\x01\x00\x02\x02\x46"), client.ErrSpeaksTLS},
		{"no HTTP either", "https://" + saying(t, "220 mail.example ready\r\n"), client.ErrNoTLS},
	} {
		api, err := client.New(c.url, client.Options{Retry: client.RetryPolicy{Attempts: 5}})
		fatal.If(t, err)
		var transport *client.TransportError
		_, err = api.Tasks.Create(t.Context(), hour("a"))
		if !errors.Is(err, c.want) || !errors.As(err, &transport) || client.MaybeApplied(err) || !strings.Contains(err.Error(), c.url) {
			t.Errorf("%s: %v", c.name, err)
		}
		api.Close()
	}
}

// An error after the handshake says nothing about the scheme: the server may
// have read the request by then.
func TestAConnectionBrokenAfterTheHandshakeMayHaveAppliedTheCall(t *testing.T) {
	tried := 0
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tried++ // requests do not overlap
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c.(*tls.Conn).NetConn(), "502 Bad Gateway\r\n") // not as TLS
	}))
	srv.StartTLS()
	defer srv.Close()
	api, err := client.New(srv.URL, client.Options{HTTPClient: srv.Client(), Retry: client.RetryPolicy{Attempts: 2}})
	fatal.If(t, err)
	defer api.Close()
	if _, err = api.Tasks.Create(t.Context(), hour("a")); errors.Is(err, client.ErrNoTLS) || !client.MaybeApplied(err) || tried != 2 {
		t.Errorf("after %d tries: %v", tried, err)
	}
}

// saying returns the address of a server that answers its first caller with
// text and then ends. A second request would get a different error.
func saying(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		c, err := l.Accept()
		l.Close()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 1)) // net/http ignores a reply that comes before the request
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // until the caller closes: a reset could discard the text
	}()
	return l.Addr().String()
}

// brokenTransport is a transport whose requests all fail.
type brokenTransport struct {
	err   error
	tries int
}

func (f *brokenTransport) RoundTrip(*http.Request) (*http.Response, error) {
	f.tries++
	return nil, f.err
}

// Such a server refuses every repeat too. Whether it has read the request is
// unknown.
func TestAMissingClientCertificateIsNotRepeated(t *testing.T) {
	transport := &brokenTransport{err: errors.New("remote error: tls: certificate required")}
	c, err := client.New("https://foliot.example", client.Options{HTTPClient: &http.Client{Transport: transport}})
	fatal.If(t, err)
	_, err = admin.New(c).Whoami(t.Context())
	if !errors.Is(err, client.ErrNeedsCertificate) || !client.MaybeApplied(err) || transport.tries != 1 || !strings.HasSuffix(err.Error(), "(the server requires a client certificate)") {
		t.Errorf("after %d tries: %v", transport.tries, err)
	}
}
