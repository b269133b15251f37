package guard

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// scanEvery is the time between two scans.
const scanEvery = time.Second

// scan checks all connections every second. openScan starts its goroutine;
// Close stops it and waits.
type scan struct {
	simple
	timeout time.Duration
	end     chan struct{}
	ended   chan struct{}

	mu  sync.Mutex // guards all
	all map[*seen]struct{}
}

func openScan(timeout time.Duration) *scan {
	g := &scan{timeout: timeout, end: make(chan struct{}), ended: make(chan struct{}), all: map[*seen]struct{}{}}
	go g.run()
	return g
}

func (g *scan) Watch(c net.Conn) (Conn, error) {
	s := &seen{Plain: plain(c)}
	s.Heard(false)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all[s] = struct{}{}
	return s, nil
}

func (g *scan) Leave(c Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, c.(*seen))
}

func (g *scan) Close() {
	close(g.end)
	<-g.ended
}

func (g *scan) run() {
	defer close(g.ended)
	every := time.NewTicker(scanEvery)
	defer every.Stop()
	for {
		select {
		case <-g.end:
			return
		case <-every.C:
		}
		for _, s := range g.silent(time.Now()) {
			s.Close()
		}
	}
}

// silent returns the connections with an expired timeout.
func (g *scan) silent(now time.Time) (found []*seen) {
	before := now.Add(-g.timeout).UnixNano()
	g.mu.Lock()
	defer g.mu.Unlock()
	for s := range g.all {
		if s.at.Load() <= before {
			found = append(found, s)
		}
	}
	return found
}

type seen struct {
	Plain
	at atomic.Int64 // time of the last read, in Unix nanoseconds; written by the handler, read by the scan
}

func (s *seen) Heard(bool) { s.at.Store(time.Now().UnixNano()) }
