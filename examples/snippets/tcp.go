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

// listenTCP watches whatever is accepted: each read and write of these connections is a touch.
func listenTCP(l net.Listener) net.Listener {
	conns := idle.New(idle.Config{AllIdle: 5 * time.Minute, Handshake: 10 * time.Second},
		func(net.Conn, idle.Reason) idle.Verdict { return idle.Close })
	return idle.NewListener(l, conns)
}

//doc:end

//doc:show embed

// session has its own Entry and touches it itself, where a command has been understood: one that only drips bytes is idle.
type session struct {
	idle.Entry
	net.Conn               // its Close is what the group calls
	pings    chan struct{} // holds one that is to be sent
	why      atomic.Uint32 // the idle.Reason for which it is closed; 0: none
}

func newSessions() *idle.Group[*session] {
	return idle.New(idle.Config{ReadIdle: time.Hour, PingEvery: 30 * time.Second, PongWait: 10 * time.Second, MaxMissed: 2}, judge)
}

// judge is called by a few workers for all sessions: it must not wait for any of them.
func judge(s *session, why idle.Reason) idle.Verdict {
	if why != idle.Ping {
		s.why.Store(uint32(why)) // for the reader: all that it will see is net.ErrClosed
		return idle.Close
	}
	select {
	case s.pings <- struct{}{}: // for the writer
	default: // it is still at the last one
	}
	return idle.Keep
}

// serveSession calls next for one command after another, and returns why the session has ended.
func serveSession(sessions *idle.Group[*session], c net.Conn, next func(net.Conn) (pong bool, err error)) error {
	defer c.Close()
	s := &session{Conn: c, pings: make(chan struct{}, 1)}
	if err := sessions.Track(s, &s.Entry); err != nil {
		return err // idle.ErrClosed: we are leaving
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
		case <-s.pings: // and what else there is to send
			if _, err := io.WriteString(s, "ping\n"); err != nil {
				return
			}
		case <-done:
			return
		}
	}
}

//doc:end
