package idle

import "net"

// NewListener returns a listener that wraps each connection of l as NewConn
// does. If the group is closed or draining, Accept closes the new connection
// and returns ErrClosed. Put TLS on top of it:
// tls.NewListener(idle.NewListener(l, g), config).
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
