package receiver

import (
	"io"
	"net"
	"sync"
)

// HangServer is a host that accepts connections, reads, and never answers.
// Close ends its goroutines and waits for them.
type HangServer struct {
	Listener net.Listener
	group    sync.WaitGroup

	mu    sync.Mutex // guards everything below
	conns []net.Conn
}

// OpenHangServer opens a host on a free loopback port.
func OpenHangServer() (*HangServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &HangServer{Listener: l}
	p.group.Go(p.accept)
	return p, nil
}

// URL returns the URL that callbacks go to.
func (s *HangServer) URL() string { return "http://" + s.Listener.Addr().String() + "/" }

func (s *HangServer) accept() {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return // closed
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.group.Go(func() {
			_, _ = io.Copy(io.Discard, conn) // until one side has enough
			conn.Close()
		})
	}
}

// Seen returns how many connections came.
func (s *HangServer) Seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Close closes all connections and waits for the goroutines.
func (s *HangServer) Close() {
	s.Listener.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.group.Wait()
}
