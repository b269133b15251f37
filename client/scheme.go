package client

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
)

// What a TransportError wraps where the server's URL has the wrong scheme. No other try would end better.
var (
	ErrSpeaksTLS = errors.New("it speaks TLS: its URL begins with https://")
	ErrNoTLS     = errors.New("it does not speak TLS: its URL begins with http://")
)

// alert is how the errors of net/http quote the TLS alert with which a server answers plain HTTP.
const alert = `malformed HTTP response "\x15\x03`

// scheme returns what err says of the URL's scheme, and err where it says nothing of it.
func scheme(err error) error {
	var noTLS tls.RecordHeaderError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS) && noTLS.Conn != nil: // nil: it spoke TLS until then, and may have read the request
		return ErrNoTLS
	case strings.Contains(err.Error(), alert):
		return ErrSpeaksTLS
	}
	return err
}

// tlsWanted are the words with which servers that speak TLS refuse plain HTTP, with a 400: Go's, nginx's and Apache's.
var tlsWanted = [][]byte{
	[]byte("HTTP request to an HTTPS server"),
	[]byte("plain HTTP request was sent to HTTPS port"),
	[]byte("speaking plain HTTP to an SSL-enabled server port"),
}

// wantsTLS reports whether a reply says that its port speaks TLS.
func wantsTLS(resp *http.Response, body []byte) bool {
	if resp.StatusCode != http.StatusBadRequest || resp.TLS != nil {
		return false
	}
	for _, words := range tlsWanted {
		if bytes.Contains(body, words) {
			return true
		}
	}
	return false
}
