package guard

import (
	"net"
	"time"
)

// simple is a guard that does nothing.
type simple struct{}

func (simple) Listen(l net.Listener) net.Listener { return l }
func (simple) Leave(Conn)                         {}
func (simple) Stalls() int                        { return 0 }
func (simple) Close()                             {}

type none struct{ simple }

func (none) Watch(c net.Conn) (Conn, error) {
	p := plain(c)
	return &p, nil
}

// deadlines sets the deadlines of a connection. The first Read or Write after
// one fails, and the handler closes.
type deadlines struct {
	simple
	timeout time.Duration
	writes  bool
}

func (g deadlines) Watch(c net.Conn) (Conn, error) {
	limited := readLimited{plain(c), g.timeout}
	if g.writes {
		return &limitedBoth{limited}, nil
	}
	return &limited, nil
}

type readLimited struct {
	Plain
	timeout time.Duration
}

func (c *readLimited) Reading() { _ = c.SetReadDeadline(time.Now().Add(c.timeout)) } // an error comes again from the Read

type limitedBoth struct{ readLimited }

func (c *limitedBoth) Writing() { _ = c.SetWriteDeadline(time.Now().Add(c.timeout)) } // an error comes again from the Write

// timers has a timer for each connection, which closes it.
type timers struct {
	simple
	timeout time.Duration
}

func (g timers) Watch(c net.Conn) (Conn, error) {
	t := &timed{Plain: plain(c), timeout: g.timeout}
	t.timer = time.AfterFunc(g.timeout, func() { t.Close() })
	return t, nil
}

func (timers) Leave(c Conn) { c.(*timed).timer.Stop() }

type timed struct {
	Plain
	timeout time.Duration
	timer   *time.Timer
}

func (c *timed) Heard(bool) { c.timer.Reset(c.timeout) }
