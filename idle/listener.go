package idle

import "net"

// NewListener returns a listener whose connections are those of l, wrapped by NewConn. When the group is closed or draining, Accept closes
// what comes and fails with ErrClosed. TLS goes on top of it: tls.NewListener(idle.NewListener(l, g), config).
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
