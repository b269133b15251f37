package client

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/child"
	"github.com/foliot/foliot/bench/idle/server"
)

// peer is one connection. It has two goroutines, live and listen, which end
// with the connection or with the process.
type peer struct {
	client *Client
	kind   Kind
	id     int
	share  float64 // its place within a spread time
	conn   *net.TCPConn
	deaf   atomic.Bool // it reads no more

	mu        sync.Mutex // guards the fields below
	last, gap time.Duration
	moved     time.Duration
	ended     time.Duration
}

const (
	line = "ping\n"
	drop = "x"
)

// live sends the data of the peer.
func (p *peer) live() {
	if p.kind == Frozen {
		defer p.client.quiet.Done()
	}
	words, every := line, p.client.config.Every
	if p.kind == Dripping {
		words, every = drop, p.client.config.Drip
	}
	at := time.Now().Add(part(every, p.share))
	for !p.silentBefore(at) {
		if p.say(words) != nil {
			return
		}
		at = at.Add(every)
	}
	switch p.kind {
	case Ponging:
		p.repeat(server.Pong)
	case Deaf:
		p.deaf.Store(true)
		if p.say(server.Push) == nil {
			go p.weigh()
			p.repeat(line)
		}
	}
}

// weigh records the time at which more unread data has come.
func (p *peer) weigh() {
	const often = 20 * time.Millisecond
	for held := int32(0); ; time.Sleep(often) {
		if n := unread(p.conn); n != held {
			held = n
			p.mu.Lock()
			p.moved = child.Now()
			p.mu.Unlock()
		}
	}
}

// silentBefore waits until a time. It reports true if the peer falls silent
// before that.
func (p *peer) silentBefore(at time.Time) bool {
	if p.kind.Alive() {
		time.Sleep(time.Until(at))
		return false
	}
	select {
	case <-time.After(time.Until(at)):
		return false
	case <-p.client.hushed:
	}
	moment := p.client.begin
	if p.kind != Frozen {
		moment = moment.Add(part(p.client.spread, p.share))
	}
	if at.Before(moment) {
		time.Sleep(time.Until(at))
		return false
	}
	time.Sleep(time.Until(moment))
	return true
}

func part(d time.Duration, share float64) time.Duration { return time.Duration(float64(d) * share) }

// say sends data that counts as use.
func (p *peer) say(words string) error {
	p.mu.Lock()
	before, now := p.last, child.Now()
	p.last = now
	p.mu.Unlock()
	_, err := io.WriteString(p.conn, words)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.last = before
	case before != 0:
		p.gap = max(p.gap, now-before)
	}
	return err
}

// repeat sends data that does not count, four times in each timeout.
func (p *peer) repeat(words string) {
	for {
		if _, err := io.WriteString(p.conn, words); err != nil {
			return
		}
		time.Sleep(p.client.config.Timeout / 4)
	}
}

// listen reads until the server closes. It does not close its own side.
func (p *peer) listen() {
	buf := make([]byte, 64)
	for !p.deaf.Load() {
		if _, err := p.conn.Read(buf); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.ended = child.Now()
			return
		}
	}
}

func (p *peer) observation() Observation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Observation{ID: p.id, Kind: p.kind, Last: p.last, Gap: p.gap, Moved: p.moved, Ended: p.ended}
}
