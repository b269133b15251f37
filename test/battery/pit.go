package main

import (
	"io"
	"net"
	"slices"
	"sync"
)

// pit is a host that accepts connections, reads, and never answers. close ends
// its goroutines and waits for them.
type pit struct {
	listener net.Listener
	group    sync.WaitGroup

	mu    sync.Mutex // guards everything below
	conns []net.Conn
}

func openPit() (*pit, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &pit{listener: l}
	p.group.Go(p.accept)
	return p, nil
}

func (p *pit) url() string { return "http://" + p.listener.Addr().String() + "/" }

func (p *pit) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.mu.Lock()
		p.conns = append(p.conns, conn)
		p.mu.Unlock()
		p.group.Go(func() {
			_, _ = io.Copy(io.Discard, conn) // until one side has enough
			conn.Close()
		})
	}
}

// seen returns how many connections came.
func (p *pit) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (p *pit) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}

// openPits opens so many pits, or none.
func openPits(n int) ([]*pit, error) {
	var pits []*pit
	for range n {
		p, err := openPit()
		if err != nil {
			closePits(pits)
			return nil, err
		}
		pits = append(pits, p)
	}
	return pits, nil
}

func closePits(pits []*pit) {
	for _, p := range pits {
		p.close()
	}
}

// seenBy returns how many connections came to all of them.
func seenBy(pits []*pit) int {
	sum := 0
	for _, p := range pits {
		sum += p.seen()
	}
	return sum
}

// allSeen reports whether each of them has seen a connection.
func allSeen(pits []*pit) bool {
	return !slices.ContainsFunc(pits, func(p *pit) bool { return p.seen() == 0 })
}
