package client

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// A TransportError wraps one of these if the server's URL has the wrong scheme,
// or if the server accepts only clients with a certificate. A repeat of the
// call fails in the same way.
var (
	ErrNeedsCertificate = errors.New("the server requires a client certificate")

	ErrSpeaksTLS = errors.New("the server uses TLS: use an https:// URL")
	ErrNoTLS     = errors.New("the server does not use TLS: use an http:// URL")
)

// alert is the TLS alert with which a server answers plain HTTP, as errors of
// net/http quote it.
const alert = `malformed HTTP response "\x15\x03`

// certificateAlert is the text of the TLS alert for a missing client certificate.
const certificateAlert = "tls: certificate required"

// scheme returns ErrNoTLS or ErrSpeaksTLS if err shows that the scheme of the
// URL is wrong, and ErrNeedsCertificate if a client certificate is missing.
// Otherwise it returns err.
func scheme(err error) error {
	var noTLS tls.RecordHeaderError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return ErrNoTLS
	case errors.As(err, &noTLS) && noTLS.Conn != nil:
		// With a nil Conn, TLS had worked before, and the server may have read
		// the request.
		return ErrNoTLS
	case strings.Contains(err.Error(), certificateAlert):
		return ErrNeedsCertificate
	case strings.Contains(err.Error(), alert):
		return ErrSpeaksTLS
	}
	return err
}

// tlsWanted are the texts with which TLS servers refuse plain HTTP, with status
// 400: those of Go, nginx and Apache.
var tlsWanted = [][]byte{
	[]byte("HTTP request to an HTTPS server"),
	[]byte("plain HTTP request was sent to HTTPS port"),
	[]byte("speaking plain HTTP to an SSL-enabled server port"),
}

// wantsTLS reports whether a reply shows that its port expects TLS.
func wantsTLS(resp *http.Response, body []byte) bool {
	if resp.StatusCode != http.StatusBadRequest || resp.TLS != nil {
		return false
	}
	return slices.ContainsFunc(tlsWanted, func(words []byte) bool { return bytes.Contains(body, words) })
}
