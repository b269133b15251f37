// Package server is the process that is measured: it echoes, and a guard closes who is silent.
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

// What peers send. Everything else is echoed.
const (
	Hello = "id " // and a number and the end of the line, first of all
	Pong  = "pong\n"
	Push  = "push\n" // from now on the peer is written to without end, and what it says is not echoed
)

// Server is a child. Its methods are those of package rpc.
type Server struct {
	guard     guard.Guard
	listeners []net.Listener
	accepting sync.WaitGroup

	open     atomic.Int64 // connections
	messages atomic.Int64 // that were read

	mu     sync.Mutex // guards what is below
	ended  []Ending
	failed error
}

// Config is what a server shall do.
type Config struct {
	Guard     string
	Timeout   time.Duration
	Addresses int // to listen at: 127.0.0.1, 127.0.0.2 and so on, for each has its own ports
}

// Sample is the state of the process.
type Sample struct {
	At          time.Duration // child.Now
	CPU         time.Duration // since the process began
	Messages    int64         // the same
	Open        int           // connections
	Goroutines  int
	Descriptors int
	Stalls      int   // of the guard
	Heap, Stack int64 // bytes in use; 0 if they were not asked for
}

// Ending is how a connection ended.
type Ending struct {
	ID     int
	At     time.Duration // child.Now
	Wrote  time.Duration // when a Write was over for the last time, of those that pushed
	ByPeer bool          // it was not the guard
}

// Open starts to listen, and returns where.
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

// thrifty is a listener whose connections have small buffers: Linux grows them to megabytes for a peer that does not read.
type thrifty struct{ net.Listener }

func (t thrifty) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		_ = tcp.SetWriteBuffer(16 << 10) // it fails where the first Read will
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
		case err != nil: // too many descriptors, or a peer that left meanwhile
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

// fail keeps the first error that must not be.
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

// byGuard tells from the error of a Read or Write whether the connection was closed on this side.
func byGuard(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded)
}

// echo is a connection's handler. It returns when a Read or Write fails.
func (s *Server) echo(c guard.Conn) (*pusher, error) {
	state := c.State()
	var p *pusher // nil: the peer is answered
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

// onlyPongs tells whether that is all that was said: several may have come at once.
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

// pusher writes to a connection until that fails, and closes it: its handler may be waiting for words of the peer.
type pusher struct {
	ended chan struct{}

	// To be read once ended is closed.
	wrote time.Duration // when a Write was over for the last time
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
