package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	connectTimeout = 10 * time.Second
	keepAlive      = 15 * time.Second // between the probes that detect a lost peer
)

// dialer connects to addresses that the guard leaves open.
type dialer struct {
	net.Dialer
	guard *Guard
}

// errPartlyDenied is not an egressDenied, because another attempt may succeed at
// the open addresses of the name.
var errPartlyDenied = errors.New("the egress guard denies some of its addresses, and the others do not answer")

// DialContext connects to one of the addresses of a host. Its error is an
// *egressDenied only if the guard denied all of them.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var permitted atomic.Bool // set by calls of the guard, at the same time for IPv6 and IPv4; read after the dial
	each := d.Dialer
	each.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		if err := d.guard.control(ctx, network, address, c); err != nil {
			return err
		}
		permitted.Store(true)
		if d.ControlContext != nil {
			return d.ControlContext(ctx, network, address, c)
		}
		return nil
	}
	conn, err := each.DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if _, ok := errors.AsType[*egressDenied](err); ok && permitted.Load() {
		return nil, fmt.Errorf("dial %s: %w", address, errPartlyDenied)
	}
	return nil, err
}

// errHandshake is the cause of a context that ended after tlsTimeout.
var errHandshake = errors.New("TLS handshake timeout")

// errClosed is the error of a connection that ended before the request was sent.
var errClosed = errors.New("the connection was closed")

// dial connects to key's address, with a TLS handshake of config if key is
// secure.
func (d *dialer) dial(ctx context.Context, key poolKey, config *tls.Config) (*conn, error) {
	raw, err := d.DialContext(ctx, "tcp", key.address)
	if err != nil || !key.secure {
		return newConn(raw, raw, key), err
	}
	config = config.Clone()
	if host, _, err := net.SplitHostPort(key.address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tlsTimeout, errHandshake)
	defer cancel()
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error is returned
		if errors.Is(context.Cause(ctx), errHandshake) {
			return nil, errHandshake
		}
		return nil, err
	}
	return newConn(secure, raw, key), nil
}
