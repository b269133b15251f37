package webhook

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"time"
)

// sendGuard checks each ready connection before the request is written to it.
// That is the last moment at which nothing has been sent. It lets one request
// through, once, and only while the lease is held. leaseConn then checks the
// lease again.
//
// net/http repeats a request by itself if a kept connection breaks and it
// considers the request harmless, such as a GET, or a POST with an
// Idempotency-Key. The receiver may have seen the first request. A request with
// a body is not repeated, because its body cannot be read again. A request
// without a body is stopped here, on its way to the second connection.
//
// A sendGuard is also the context of the attempt, which the dialer uses (see
// dialer). All methods except checkLease run on the goroutine of the attempt,
// so there is no lock.
type sendGuard struct {
	context.Context
	giveUp context.CancelCauseFunc // ends the context
	live   func() error            // nil means that there is no lease to lose
	guard  *Guard
	trace  httptrace.ClientTrace // net/http calls it with each connection that it is about to use

	address string // host:port for the dials of this attempt; set by newRequest

	passed  time.Time // the time at which the guard allowed the request; zero means that nothing was sent
	refusal error     // why a connection was not used
}

var (
	errRepeat = errors.New("the kept connection broke before a reply came; whether the receiver saw the request is unknown")
	errLease  = errors.New("the lease is no longer held")
)

// newSendGuard returns the sendGuard of an attempt. giveUp ends ctx.
func newSendGuard(ctx context.Context, giveUp context.CancelCauseFunc, guard *Guard, live func() error) *sendGuard {
	g := &sendGuard{Context: ctx, giveUp: giveUp, guard: guard, live: live}
	g.trace.GotConn = g.gotConn
	return g
}

// watching returns the context for net/http. With it, net/http passes each
// connection to the sendGuard before it uses the connection.
func (g *sendGuard) watching() context.Context { return httptrace.WithClientTrace(g, &g.trace) }

// addressIn returns the address for a dial under ctx, the context of an
// attempt.
func addressIn(ctx context.Context) (string, error) {
	g, ok := ctx.Value(sendGuardKey{}).(*sendGuard)
	if !ok || g.address == "" {
		return "", errNoAddress
	}
	return g.address, nil
}

var errNoAddress = errors.New("the dial does not belong to an attempt")

// sendGuardKey is the key of the sendGuard in the context of an attempt.
type sendGuardKey struct{}

// Value implements context.Context.
func (g *sendGuard) Value(key any) any {
	if key == (sendGuardKey{}) {
		return g
	}
	return g.Context.Value(key)
}

func (g *sendGuard) gotConn(info httptrace.GotConnInfo) {
	if !g.passed.IsZero() {
		g.refuse(info.Conn, errRepeat)
		return
	}
	// A kept connection was checked when it was dialled; loopback may be closed
	// since.
	if err := g.guard.Verdict(remote(info.Conn)); err != nil {
		g.refuse(info.Conn, err)
		return
	}
	if err := g.checkLease(); err != nil {
		g.refuse(info.Conn, err)
		return
	}
	if err := g.Err(); err != nil { // last, because the check of the lease may take time
		g.refuse(info.Conn, err)
		return
	}
	g.passed = time.Now()
	if w, ok := bare(info.Conn).(*leaseConn); ok {
		w.next.Store(g)
	}
}

// bare returns the connection below TLS.
func bare(conn net.Conn) net.Conn {
	if t, ok := conn.(tlsConn); ok {
		return t.NetConn()
	}
	return conn
}

// remote returns the address of the peer, or the zero value if there is none.
func remote(conn net.Conn) netip.AddrPort {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// refuse keeps net/http from using conn. Its next write fails on the closed
// connection, and the ended context keeps it from opening another one.
func (g *sendGuard) refuse(conn net.Conn, why error) {
	g.refusal = why
	g.giveUp(why)
	bare(conn).Close() // closing the TLS layer could block on its last alert
}
