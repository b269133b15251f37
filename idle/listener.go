package idle

import "net"

// NewListener returns a listener that wraps each connection of l as NewConn
// does. Put TLS on top of it: tls.NewListener(idle.NewListener(l, g), config).
// NewListener panics if g is nil.
//
// If the group is closed or draining, Accept closes the new connection and
// returns ErrClosed. That error is permanent, so http.Server.Serve and similar
// loops return it: close the listener before you close or drain the group. If
// the group has no room, Accept closes the new connection and returns ErrFull.
func NewListener(l net.Listener, g *Group[net.Conn]) net.Listener {
	if g == nil {
		panic("idle: NewListener without a group")
	}
	return &listener{l, g}
}

type listener struct {
	net.Listener
	group *Group[net.Conn]
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wrap(c, l.group)
}
