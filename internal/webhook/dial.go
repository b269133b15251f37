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
	guard   *Guard
	closing context.Context // ends when the Sender is closed, and ends all dials
}

func newDialer(closing context.Context, guard *Guard) *dialer {
	return &dialer{
		Dialer:  net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive},
		guard:   guard,
		closing: closing,
	}
}

// following returns a context that also ends when the attempt of the dial ends,
// or when the Sender is closed.
//
// net/http separates a dial from the end of its attempt, and continues it for a
// later attempt. But then each attempt at a host that does not answer leaves a
// dial with its descriptor: short timeouts could use all descriptors of the
// process, and the store could open no file.
func (d *dialer) following(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stops := []func() bool{context.AfterFunc(d.closing, cancel)}
	if attempt, ok := ctx.Value(sendGuardKey{}).(*sendGuard); ok {
		stops = append(stops, context.AfterFunc(attempt, cancel))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// errPartlyDenied is not an EgressDenied: another attempt may succeed at the
// open addresses of the name.
var errPartlyDenied = errors.New("the egress guard denies some of its addresses, and the others do not answer")

// DialContext connects to one of the addresses of a host. Its error is an
// *EgressDenied only if the guard denied all of them.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, end := d.following(ctx)
	defer end()

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
		return &leaseConn{Conn: conn}, nil
	}
	var denied *EgressDenied
	if errors.As(err, &denied) && permitted.Load() {
		return nil, fmt.Errorf("dial %s: %w", address, errPartlyDenied)
	}
	return nil, err
}

// dialPlain is DialContext for net/http, which passes the pool's name instead
// of an address.
func (d *dialer) dialPlain(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := addressIn(ctx)
	if err != nil {
		return nil, err
	}
	return d.DialContext(ctx, network, address)
}

// errHandshake is the cause of a context that ended after tlsTimeout.
var errHandshake = errors.New("TLS handshake timeout")

// dialTLS connects like DialContext and does the handshake of config. net/http
// could do the handshake, but could not end it with the attempt.
func (d *dialer) dialTLS(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	raw, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, end := d.following(ctx)
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, tlsTimeout, errHandshake)
	defer cancel()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error is returned
		if errors.Is(context.Cause(ctx), errHandshake) {
			return nil, errHandshake
		}
		return nil, err
	}
	return tlsConn{conn}, nil
}
