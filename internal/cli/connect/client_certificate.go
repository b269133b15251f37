package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// ClientCertificate reads the certificate with which a command identifies itself
// to the server. It returns nil if both paths are empty. Its errors name the places
// of the paths: flags, or settings of a context.
func ClientCertificate(certPlace, certFile, keyPlace, keyFile string) (*tls.Certificate, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "":
		return nil, usage.Errorf(keyPlace, "it needs --client-cert, the certificate of the key")
	case keyFile == "":
		return nil, usage.Errorf(certPlace, "it needs --client-key, the key of the certificate")
	}
	cert, err := fileaccess.Read(certFile, fileaccess.Unaltered)
	if err != nil {
		return nil, usage.Errorf(certPlace, "%v", err)
	}
	key, err := fileaccess.Read(keyFile, fileaccess.SecretFile)
	if err != nil {
		return nil, usage.Errorf(keyPlace, "%v", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, usage.Errorf(certPlace+", "+keyPlace, "%s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}

// ServerCertificate returns the certificate of the server that replied, or nil if
// the replies came over plain HTTP.
func (f *Flags) ServerCertificate() *x509.Certificate {
	if f.identity == nil {
		return nil
	}
	return f.identity.server.Load()
}

// certificateRequest sends the client's certificate to the server, and
// recognizes the failure without one. A server that requires a certificate ends
// the connection after the handshake. The request then fails while it is
// written or while the reply is read, with an error that does not name the
// reason.
type certificateRequest struct {
	next      http.RoundTripper
	pair      *tls.Certificate // nil: none
	requested atomic.Bool      // set by the handshake: the server has requested a certificate
	answered  atomic.Bool      // set by the first reply: the server does not require one

	server atomic.Pointer[x509.Certificate] // set by replies over TLS
}

// get implements tls.Config.GetClientCertificate.
func (c *certificateRequest) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.requested.Store(true)
	if c.pair == nil {
		return new(tls.Certificate), nil
	}
	return c.pair, nil
}

// RoundTrip implements http.RoundTripper.
func (c *certificateRequest) RoundTrip(req *http.Request) (*http.Response, error) {
	reply, err := c.next.RoundTrip(req)
	switch {
	case err == nil:
		c.answered.Store(true)
		if reply.TLS != nil && len(reply.TLS.PeerCertificates) > 0 {
			c.server.Store(reply.TLS.PeerCertificates[0])
		}
	case c.pair == nil && c.requested.Load() && !c.answered.Load() && endsConnection(err):
		return nil, fmt.Errorf("%w: %w", client.ErrNeedsCertificate, err)
	}
	return reply, err
}

// endsConnection reports whether err can mean that the server ended the
// connection after the handshake.
func endsConnection(err error) bool {
	var untrusted *tls.CertificateVerificationError
	var op *net.OpError
	notReached := errors.As(err, &op) && op.Op == "dial"
	return !notReached && !errors.As(err, &untrusted) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
