package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	connectTimeout = 10 * time.Second // net/http dials on when the attempt that asked has given up: this ends it
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

// errPartlyDenied is no EgressDenied: another attempt may find the open
// addresses of the name up.
var errPartlyDenied = errors.New("some of its addresses are denied by the egress guard, the others do not answer")

// DialContext connects to one of the addresses of a host. Its error is an
// *EgressDenied only where the guard denied each of them.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.closing, cancel)()

	var permitted atomic.Bool // set by the guard's calls: IPv6 and IPv4 are tried at the same time; read when they are over
	each := d.Dialer
	each.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		err := d.guard.control(ctx, network, address, c)
		if err == nil {
			permitted.Store(true)
		}
		return err
	}
	conn, err := each.DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	var denied *EgressDenied
	if errors.As(err, &denied) && permitted.Load() {
		return nil, fmt.Errorf("dial %s: %w", address, errPartlyDenied)
	}
	return nil, err
}
