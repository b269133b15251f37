package snippets

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/idle"
)

//doc:show tcp

// listenTCP watches all accepted connections: each read and write is a touch.
func listenTCP(l net.Listener) net.Listener {
	conns := idle.New(idle.Config{AllIdle: 5 * time.Minute, Handshake: 10 * time.Second},
		func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
	return idle.NewListener(l, conns)
}

//doc:end

//doc:show embed

// session has its own Entry and touches it for each command. A client that only
// sends single bytes is idle.
type session struct {
	idle.Entry
	net.Conn               // the group calls its Close
	pings    chan struct{} // holds one ping to send
	why      atomic.Uint32 // the idle.Reason for which it is closed; zero means none
}

func newSessions() *idle.Group[*session] {
	return idle.New(idle.Config{ReadIdle: time.Hour, PingEvery: 30 * time.Second, PongWait: 10 * time.Second, MaxMissed: 2}, judge)
}

// judge is called by a few workers for all sessions: it must not wait for any
// session.
func judge(s *session, why idle.Reason) idle.Verdict {
	if why != idle.Ping {
		s.why.Store(uint32(why)) // for the reader, which only sees net.ErrClosed
		return idle.Close()
	}
	select {
	case s.pings <- struct{}{}: // for the writer
	default: // the last one is not sent yet
	}
	return idle.Keep()
}

// serveSession calls next for one command after another, and returns the reason
// for the end.
func serveSession(sessions *idle.Group[*session], c net.Conn, next func(net.Conn) (pong bool, err error)) error {
	defer c.Close()
	s := &session{Conn: c, pings: make(chan struct{}, 1)}
	if err := sessions.Track(s, &s.Entry); err != nil {
		return err // idle.ErrClosed: the server is shutting down
	}
	defer sessions.Untrack(&s.Entry)
	done := make(chan struct{})
	defer close(done)
	go s.write(done)
	for {
		pong, err := next(c)
		switch why := idle.Reason(s.why.Load()); {
		case err != nil && why != 0:
			return fmt.Errorf("closed: %v", why)
		case err != nil:
			return err
		case pong:
			s.Pong()
		default:
			s.TouchRead()
		}
	}
}

func (s *session) write(done <-chan struct{}) {
	for {
		select {
		case <-s.pings: // and other things to send
			if _, err := io.WriteString(s, "ping\n"); err != nil {
				return
			}
		case <-done:
			return
		}
	}
}

//doc:end
