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
	keepAlive      = 15 * time.Second // between the probes that find out that a peer has vanished
)

// dialer connects to what the guard leaves open.
type dialer struct {
	net.Dialer
	guard   *Guard
	closing context.Context // ends when the Sender is closed, and every dial with it
}

func newDialer(closing context.Context, guard *Guard) *dialer {
	return &dialer{
		Dialer:  net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive},
		guard:   guard,
		closing: closing,
	}
}

// following returns a context that also ends when the attempt does that asked
// for the dial of ctx, or when the Sender is closed.
//
// net/http cuts a dial off from the end of the attempt that asks for it, and
// dials on for the sake of a later one. But attempts at a host that does not
// answer then leave a dial each behind, with its descriptor: short timeouts
// take all the process has, and its store is the next to open a file.
func (d *dialer) following(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stops := []func() bool{context.AfterFunc(d.closing, cancel)}
	if attempt, ok := ctx.Value(gateKey{}).(*gate); ok {
		stops = append(stops, context.AfterFunc(attempt, cancel))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// errPartlyDenied is no EgressDenied: another attempt may find the open
// addresses of the name up.
var errPartlyDenied = errors.New("some of its addresses are denied by the egress guard, the others do not answer")

// DialContext connects to one of the addresses of a host. Its error is an
// *EgressDenied only where the guard denied each of them.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, end := d.following(ctx)
	defer end()

	var permitted atomic.Bool // set by the guard's calls: IPv6 and IPv4 are tried at the same time; read when they are over
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
		return &wire{Conn: conn}, nil
	}
	var denied *EgressDenied
	if errors.As(err, &denied) && permitted.Load() {
		return nil, fmt.Errorf("dial %s: %w", address, errPartlyDenied)
	}
	return nil, err
}

// dialPlain is DialContext for net/http, which knows the pool of a connection
// and not its address.
func (d *dialer) dialPlain(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := addressIn(ctx)
	if err != nil {
		return nil, err
	}
	return d.DialContext(ctx, network, address)
}

// errHandshake is the end of tlsTimeout.
var errHandshake = errors.New("TLS handshake timeout")

// dialTLS connects like DialContext and shakes hands as config says. net/http
// could do the second by itself, but not end it with the attempt.
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
		_ = raw.Close() // the handshake's error is the news
		if errors.Is(context.Cause(ctx), errHandshake) {
			return nil, errHandshake
		}
		return nil, err
	}
	return secure{conn}, nil
}
