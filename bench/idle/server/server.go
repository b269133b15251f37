// Package server is the measured process: it echoes, and a guard closes silent
// connections.
package server

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/guard"
)

// Messages of peers. All other data is echoed.
const (
	Hello = "id " // followed by a number and the end of the line; the first message
	Pong  = "pong\n"
	Push  = "push\n" // from now on the server writes to the peer without end, and does not echo
)

// Server is a child process. Its methods are those of package rpc.
type Server struct {
	guard     guard.Guard
	listeners []net.Listener
	accepting sync.WaitGroup

	open     atomic.Int64 // connections
	messages atomic.Int64 // messages read

	mu     sync.Mutex // guards the fields below
	ended  []Ending
	failed error
}

// Config configures a server.
type Config struct {
	Guard     string
	Timeout   time.Duration
	Addresses int // number of addresses to listen at: 127.0.0.1, 127.0.0.2 and so on, since each has its own ports
}

// Sample is the state of the process.
type Sample struct {
	CPU         time.Duration // since the process started
	Messages    int64         // since the process started
	Open        int           // connections
	Stalls      int           // stalls of the guard
	Heap, Stack int64         // bytes in use; 0 if not requested
}

// Ending is the end of a connection.
type Ending struct {
	ID     int
	At     time.Duration // child.Now
	Wrote  time.Duration // end of the last Write
	ByPeer bool          // the peer ended it, not the guard
}

// Open starts to listen, and returns the addresses.
func (s *Server) Open(c Config, addresses *[]string) (err error) {
	s.guard, err = guard.Open(c.Guard, c.Timeout)
	if err != nil {
		return err
	}
	for i := range c.Addresses {
		l, err := guard.Listen(fmt.Sprintf("127.0.0.%d:0", i+1))
		if err != nil {
			return err
		}
		*addresses = append(*addresses, l.Addr().String())
		l = s.guard.Listen(thrifty{l})
		s.listeners = append(s.listeners, l)
		s.accepting.Go(func() { s.accept(l) })
	}
	return nil
}

// thrifty is a listener that gives its connections small buffers: Linux grows
// them to megabytes for a peer that does not read.
type thrifty struct{ net.Listener }

func (t thrifty) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		_ = tcp.SetWriteBuffer(16 << 10) // an error comes again from the first Read
	}
	return c, err
}

// accept ends when the listener is closed.
func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many descriptors, or the peer has closed already
			time.Sleep(time.Millisecond)
			continue
		}
		s.open.Add(1)
		go s.handle(c)
	}
}

func (s *Server) handle(raw net.Conn) {
	defer s.open.Add(-1)
	c, err := s.guard.Watch(raw)
	if err != nil {
		raw.Close()
		s.fail(err)
		return
	}
	p, err := s.echo(c)
	s.guard.Leave(c)
	c.Close()
	s.note(c.State().ID, p, err)
}

// fail keeps the first unexpected error.
func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

func (s *Server) note(id int, p *pusher, err error) {
	e := Ending{ID: id, At: child.Now(), ByPeer: !byGuard(err)}
	if p != nil {
		<-p.ended
		e.Wrote = p.wrote
		e.ByPeer = e.ByPeer || !byGuard(p.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, e)
}

// byGuard reports whether the error of a Read or Write means that this side
// closed the connection.
func byGuard(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded)
}

// echo is a connection's handler. It returns when a Read or Write fails.
func (s *Server) echo(c guard.Conn) (*pusher, error) {
	state := c.State()
	var p *pusher // nil means that the server answers the peer
	for {
		c.Reading()
		n, err := c.Read(state.Buf)
		if err != nil {
			return p, err
		}
		said := state.Buf[:n]
		pong := onlyPongs(said)
		c.Heard(pong)
		s.messages.Add(1)
		switch {
		case pong || p != nil:
			continue
		case bytes.HasPrefix(said, []byte(Hello)):
			state.ID = number(said[len(Hello):])
		case bytes.HasPrefix(said, []byte(Push)):
			p = startPushing(c)
			continue
		}
		c.Writing()
		if _, err := c.Write(said); err != nil {
			return p, err
		}
		c.Wrote()
	}
}

// onlyPongs reports whether data consists of pongs: several may come at once.
func onlyPongs(said []byte) bool {
	for bytes.HasPrefix(said, []byte(Pong)) {
		said = said[len(Pong):]
	}
	return len(said) == 0
}

// number reads the digits of a line.
func number(line []byte) int {
	digits, _, _ := bytes.Cut(line, []byte("\n"))
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return -1
	}
	return n
}

// pusher writes to a connection until that fails, and closes it: its handler
// may be blocked in a Read.
type pusher struct {
	ended chan struct{}

	// Read it only after ended is closed.
	wrote time.Duration // end of the last Write
	err   error
}

func startPushing(c guard.Conn) *pusher {
	p := &pusher{ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		defer c.Close()
		block := make([]byte, 1024)
		for {
			c.Writing()
			if _, p.err = c.Write(block); p.err != nil {
				return
			}
			p.wrote = child.Now()
			c.Wrote()
		}
	}()
	return p
}
