package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// Proxy stands between a client and a server, and breaks their connections on
// demand. Its methods may be called by many goroutines.
type Proxy struct {
	Addr string // where clients connect to

	target   string
	listener net.Listener
	pairs    sync.WaitGroup

	mu      sync.Mutex // guards everything below
	moved   *sync.Cond // signalled at each change
	delay   time.Duration
	frozen  bool   // no byte passes, and both sides get no error
	spared  string // the name of clients that frozen does not affect
	judge   func(command []string) bool
	mute    bool // messages of channels are dropped
	dropped int  // the number of dropped messages
	deaf    bool // new connections are closed at once
	left    int  // bytes of replies until the cut; below 0: no cut is planned
	passed  int  // bytes of replies so far
	live    map[net.Conn]struct{}
	closed  bool
}

// NewProxy starts a proxy to target, and ends it with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := StartProxy(target)
	fatal.If(t, err)
	t.Cleanup(p.Close)
	return p
}

// StartProxy starts a proxy to target, which need not be there yet; Close ends
// it.
func StartProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, listener: l, left: -1, live: map[net.Conn]struct{}{}}
	p.moved = sync.NewCond(&p.mu)
	p.pairs.Go(p.accept)
	return p, nil
}

// Delay delays each piece of a reply by d from now on.
func (p *Proxy) Delay(d time.Duration) { p.change(func() { p.delay = d }) }

// Freeze stops all bytes in both directions, and keeps the connections open,
// like a peer whose cable was pulled. Thaw ends it, and the bytes that were
// held back pass.
func (p *Proxy) Freeze() { p.change(func() { p.frozen = true }) }

// FreezeBut is Freeze for all clients except those that give themselves this
// name when they connect. It stands for a server that its replicas and
// Sentinels cannot reach, while its users can.
func (p *Proxy) FreezeBut(name string) {
	p.change(func() { p.frozen, p.spared = true, name })
}

func (p *Proxy) Thaw() { p.change(func() { p.frozen, p.spared = false, "" }) }

// CutAt closes a connection instead of returning the reply to a command for
// which cut returns true. The server still executes the command. cut is called
// with every command of connections that are made from now on, in order for
// each connection. nil ends it.
func (p *Proxy) CutAt(cut func(command []string) bool) { p.change(func() { p.judge = cut }) }

// Mute drops the messages of channels on connections that are made from now on.
func (p *Proxy) Mute() { p.change(func() { p.mute = true }) }

func (p *Proxy) Muted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Refuse says whether new connections are closed at once.
func (p *Proxy) Refuse(deaf bool) { p.change(func() { p.deaf = deaf }) }

// Cut closes all connections now.
func (p *Proxy) Cut() { p.change(p.cutLocked) }

// CutReplyAfter closes all connections once, after n more bytes of replies have
// passed, counted over all connections together.
func (p *Proxy) CutReplyAfter(n int) { p.change(func() { p.left = n }) }

// Replied returns how many bytes of replies have passed, on all connections
// together.
func (p *Proxy) Replied() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

func (p *Proxy) change(edit func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit()
	p.moved.Broadcast()
}

func (p *Proxy) cutLocked() {
	for c := range p.live {
		_ = c.Close()
	}
}

// Close ends the proxy and its connections, and waits for that.
func (p *Proxy) Close() {
	p.change(func() {
		p.closed, p.frozen = true, false
		p.cutLocked()
	})
	_ = p.listener.Close()
	p.pairs.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pairs.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	var d net.Dialer
	server, err := d.DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !p.enter(client, server) {
		return
	}
	defer p.leave(client, server)
	one := &pair{proxy: p, client: client, server: server}
	one.run()
}

func (p *Proxy) enter(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deaf || p.closed {
		return false
	}
	for _, c := range conns {
		p.live[c] = struct{}{}
	}
	return true
}

func (p *Proxy) leave(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.live, c)
	}
}

// pass waits until n bytes may pass. It returns how many of them may, and
// whether to cut the connections then. name is the name of the client.
func (p *Proxy) pass(n int, reply bool, name string) (int, bool) {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if reply && delay > 0 {
		time.Sleep(delay) // delaying replies is the purpose of the proxy
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && (name == "" || name != p.spared) {
		p.moved.Wait()
	}
	if reply {
		p.passed += n
	}
	if !reply || p.left < 0 {
		return n, false
	}
	if n < p.left {
		p.left -= n
		return n, false
	}
	n, p.left = p.left, -1
	return n, true
}

// doomed reports whether the reply to a command must be cut.
func (p *Proxy) doomed(command []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.judge != nil && p.judge(words(command))
}

// muted reports whether a reply must be dropped.
func (p *Proxy) muted(reply []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mute || !isMessage(reply) {
		return false
	}
	p.dropped++
	return true
}
