package webhook

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"time"
)

// gate stands between a connection that is ready and the request that would be
// written onto it next: the last moment at which nothing has been sent. It lets
// one request through, once, and only while the lease is held; see wire too.
//
// net/http repeats a request by itself when a kept connection breaks and it
// takes the request for harmless: a GET, say, or a POST with an
// Idempotency-Key. The receiver may have seen the first one. A request with a
// body is not repeated because its body cannot be read again; one without is
// stopped here, on its way to the second connection.
//
// It is the context of the attempt too: what a dial on its behalf follows
// (see dialer). All of it but ask runs on the goroutine of the attempt: no lock.
type gate struct {
	context.Context
	giveUp context.CancelCauseFunc // ends it
	live   func() error            // nil: there is no lease to lose
	guard  *Guard
	trace  httptrace.ClientTrace // how net/http tells which connection it means to use

	address string // host:port that a dial on its behalf connects to; newRequest sets it

	passed  time.Time // when the request was let through; zero: nothing was sent
	refusal error     // why a connection was not used
}

var (
	errRepeat = errors.New("the kept connection broke before a reply came; whether the receiver saw the request is unknown")
	errLease  = errors.New("the lease is no longer held")
)

// newGate returns the gate of an attempt whose context is ctx and ends by giveUp.
func newGate(ctx context.Context, giveUp context.CancelCauseFunc, guard *Guard, live func() error) *gate {
	g := &gate{Context: ctx, giveUp: giveUp, guard: guard, live: live}
	g.trace.GotConn = g.gotConn
	return g
}

// watching returns the context under which net/http asks the gate for each
// connection that it means to use.
func (g *gate) watching() context.Context { return httptrace.WithClientTrace(g, &g.trace) }

// addressIn returns the address that a dial under ctx, the context of an
// attempt, connects to.
func addressIn(ctx context.Context) (string, error) {
	g, ok := ctx.Value(gateKey{}).(*gate)
	if !ok || g.address == "" {
		return "", errNoAddress
	}
	return g.address, nil
}

var errNoAddress = errors.New("the dial belongs to no attempt")

// gateKey is the key under which the context of an attempt knows its gate.
type gateKey struct{}

// Value implements context.Context.
func (g *gate) Value(key any) any {
	if key == (gateKey{}) {
		return g
	}
	return g.Context.Value(key)
}

func (g *gate) gotConn(info httptrace.GotConnInfo) {
	if !g.passed.IsZero() {
		g.refuse(info.Conn, errRepeat)
		return
	}
	// A kept connection was judged when it was dialled; loopback may be closed since.
	if err := g.guard.Verdict(remote(info.Conn)); err != nil {
		g.refuse(info.Conn, err)
		return
	}
	if err := g.ask(); err != nil {
		g.refuse(info.Conn, err)
		return
	}
	if err := g.Err(); err != nil { // last: asking for the lease may have taken its time
		g.refuse(info.Conn, err)
		return
	}
	g.passed = time.Now()
	if w, ok := bare(info.Conn).(*wire); ok {
		w.next.Store(g)
	}
}

// bare returns what lies below TLS.
func bare(conn net.Conn) net.Conn {
	if t, ok := conn.(secure); ok {
		return t.NetConn()
	}
	return conn
}

// remote returns the address of the other side, the zero value of a connection
// that has none.
func remote(conn net.Conn) netip.AddrPort {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort()
	}
	return netip.AddrPort{}
}

// refuse keeps net/http from using conn: what it writes next fails on a closed
// connection, and the ended context keeps it from looking for another one.
func (g *gate) refuse(conn net.Conn, why error) {
	g.refusal = why
	g.giveUp(why)
	bare(conn).Close() // closing what lies above may block on its farewell
}
