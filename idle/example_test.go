package idle_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
		return idle.Close()
	}
	select {
	case s.pings <- struct{}{}: // for the writer
	default: // it has not sent the last one yet
	}
	return idle.Keep()
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

// A server shuts down: it stops accepting, and closes its connections one after
// another, so that the clients do not all move to the next server at once.
func ExampleGroup_Drain() {
	g := idle.New(idle.Config{AllIdle: 2 * time.Minute}, func(_ net.Conn, why idle.Reason) idle.Verdict {
		fmt.Println("closing one:", why)
		return idle.Close()
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	l = idle.NewListener(l, g)
	for range 3 {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer client.Close()
		c, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}

	l.Close() // first: a drain closes new connections without an answer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = g.Drain(ctx, 30*time.Millisecond) // 10 * time.Second in production
	fmt.Println(err, g.Len())
	g.Close() // after ctx ended: stop watching the connections that are left
	// Output:
	// closing one: evicted
	// closing one: evicted
	// closing one: evicted
	// <nil> 0
}

// A connection gets a warning before it is closed, and some time to answer.
func ExampleKeepFor() {
	warned := false // `on` is never called twice at a time for one connection
	done := make(chan struct{})
	g := idle.New(idle.Config{ReadIdle: 20 * time.Millisecond}, func(name string, why idle.Reason) idle.Verdict {
		if !warned {
			warned = true
			fmt.Println(name, "is warned:", why) // the goroutine that writes for it sends the warning
			return idle.KeepFor(50 * time.Millisecond)
		}
		fmt.Println(name, "goes:", why)
		close(done)
		return idle.Close()
	})
	defer g.Close()
	var alice idle.Entry
	_ = g.Track("alice", &alice)
	<-done
	// Output:
	// alice is warned: read idle
	// alice goes: read idle
}

// A server closes connections after two minutes between requests, and after an
// hour at the latest. When it shuts down, it closes idle connections at once,
// and the others after their request.
func ExampleWatchServer() {
	g := idle.New(idle.Config{
		AllIdle:   2 * time.Minute,  // longer than the proxy in front waits
		Handshake: 10 * time.Second, // for TLS, and the start of the first request
		MaxAge:    time.Hour,
	}, func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
	defer g.Close()

	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello")
	})}
	idle.WatchServer(s, g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		fmt.Println("served until the listener was closed:", errors.Is(s.Serve(l), net.ErrClosed))
	}()

	reply, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	fmt.Printf("%s, %d connection\n", body, g.Len())

	l.Close() // first: a drain closes new connections without an answer
	<-served  // otherwise Shutdown might close l too, and return that error
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(g.Drain(ctx, 0), g.Len()) // with many connections, spread them over a time, so that they do not all return at once
	fmt.Println(s.Shutdown(ctx))
	// Output:
	// hello, 1 connection
	// served until the listener was closed: true
	// <nil> 0
	// <nil>
}
