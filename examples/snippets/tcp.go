package snippets

import (
	"net"
	"time"

	"github.com/foliot/foliot/idle"
)

//doc:show tcp

// listenTCP watches whatever is accepted: each read and write of these connections is a touch.
func listenTCP(l net.Listener) net.Listener {
	conns := idle.New(idle.Config{AllIdle: 5 * time.Minute, Handshake: 10 * time.Second},
		func(net.Conn, idle.Reason) idle.Verdict { return idle.Close })
	return idle.Listener(l, conns)
}

//doc:end

//doc:show embed

// session has its own Entry and touches it itself, where a command has been understood: one that only drips bytes is idle.
type session struct {
	idle.Entry
	net.Conn
}

func newSessions() *idle.Group[*session] {
	return idle.New(idle.Config{ReadIdle: 5 * time.Minute},
		func(*session, idle.Reason) idle.Verdict { return idle.Close }) // session has a Close: the group calls it
}

func serveSession(sessions *idle.Group[*session], c net.Conn, next func(net.Conn) error) {
	defer c.Close()
	s := &session{Conn: c}
	if sessions.Track(s, &s.Entry) != nil {
		return // the group is closed, or draining
	}
	defer sessions.Untrack(&s.Entry)
	for next(c) == nil {
		s.TouchRead()
	}
}

//doc:end
