package idle_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/idle"
)

// session is a connection of a program that decides itself which data is a use:
// here each line. A line "pong" answers a ping.
type session struct {
	idle.Entry
	net.Conn               // the group calls its Close
	pings    chan struct{} // holds one ping to send
	why      atomic.Uint32 // the idle.Reason for which it is closed; 0: none
}

// judge is called by a few workers for all sessions: it must not wait for any
// session.
func judge(s *session, why idle.Reason) idle.Verdict {
	if why != idle.Ping {
		s.why.Store(uint32(why)) // for the reader, which only sees that the connection is closed
		return idle.Close
	}
	select {
	case s.pings <- struct{}{}: // for the writer
	default: // it has not sent the last one yet
	}
	return idle.Keep
}

func serve(sessions *idle.Group[*session], c net.Conn) {
	defer c.Close()
	s := &session{Conn: c, pings: make(chan struct{}, 1)}
	if err := sessions.Track(s, &s.Entry); err != nil {
		return // ErrClosed: the server is shutting down
	}
	defer sessions.Untrack(&s.Entry)
	done := make(chan struct{})
	defer close(done)
	go s.write(done)
	s.read()
}

func (s *session) read() {
	lines := bufio.NewScanner(s)
	for lines.Scan() {
		if lines.Text() == "pong" {
			s.Pong() // a sign of life, but not a use: it delays neither ReadIdle nor AllIdle
		} else {
			s.TouchRead()
		}
		fmt.Println("server:", lines.Text())
	}
	if why := idle.Reason(s.why.Load()); why != 0 {
		fmt.Println("server: closed,", why)
	}
}

func (s *session) write(done <-chan struct{}) {
	for {
		select {
		case <-s.pings:
			if _, err := io.WriteString(s, "ping\n"); err != nil {
				return
			}
		case <-done:
			return
		}
	}
}

// A program embeds an Entry in its own connections, and touches it for each
// message that it understood.
func ExampleGroup() {
	sessions := idle.New(idle.Config{
		ReadIdle:  time.Hour,
		PingEvery: 20 * time.Millisecond, // 30 * time.Second in production
		PongWait:  100 * time.Millisecond,
	}, judge)
	defer sessions.Close()

	here, there := net.Pipe()
	go func() { // a client that answers once
		in := bufio.NewScanner(there)
		io.WriteString(there, "hello\n")
		in.Scan()
		fmt.Println("client:", in.Text())
		io.WriteString(there, "pong\n")
		io.Copy(io.Discard, there)
	}()
	serve(sessions, here)
	fmt.Println(sessions.Len(), "left")
	// Output:
	// server: hello
	// client: ping
	// server: pong
	// server: closed, pong timeout
	// 0 left
}
