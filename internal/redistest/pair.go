package redistest

import (
	"bufio"
	"io"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
)

// pair is a client's connection to a proxy, with the proxy's connection to the
// server.
type pair struct {
	proxy          *Proxy
	client, server net.Conn

	name atomic.Pointer[string] // of the client; set once, from its first command
	cut  atomic.Bool            // the client gets no more replies; set by one direction, read by the other
}

// run returns when both connections have ended.
func (p *pair) run() {
	p.proxy.mu.Lock()
	whole := p.proxy.judge != nil || p.proxy.mute
	p.proxy.mu.Unlock()
	read := pieces
	if whole {
		read = values
	}
	var requests sync.WaitGroup
	requests.Go(func() {
		p.requests(read(p.client))
		if tcp, ok := p.server.(*net.TCPConn); ok && p.cut.Load() {
			_ = tcp.CloseWrite() // the server still reads the bytes that it was sent
			return
		}
		_ = p.server.Close()
	})
	p.replies(read(p.server))
	_ = p.client.Close()
	if p.cut.Load() {
		_, _ = io.Copy(io.Discard, p.server)
	}
	requests.Wait()
}

// pieces reads bytes as they come.
func pieces(from net.Conn) func() ([]byte, error) {
	room := make([]byte, 32<<10)
	return func() ([]byte, error) {
		n, err := from.Read(room)
		return room[:n], err
	}
}

// values reads one value of the protocol after another.
func values(from net.Conn) func() ([]byte, error) {
	r := bufio.NewReader(from)
	return func() ([]byte, error) { return readValue(r) }
}

// naming matches the commands with which clients set their name, alone or in
// HELLO.
var naming = regexp.MustCompile(`SETNAME\r\n\$[0-9]+\r\n([^\r]+)\r\n`)

func (p *pair) requests(next func() ([]byte, error)) {
	for {
		piece, err := next()
		if len(piece) > 0 {
			if p.name.Load() == nil {
				p.readName(piece)
			}
			if p.proxy.doomed(piece) {
				p.cut.Store(true)
			}
			p.proxy.pass(len(piece), false, *p.name.Load())
			if _, werr := p.server.Write(piece); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readName finds the client's name in its first command.
func (p *pair) readName(first []byte) {
	name := ""
	if found := naming.FindSubmatch(first); found != nil {
		name = string(found[1])
	}
	p.name.Store(&name)
}

func (p *pair) replies(next func() ([]byte, error)) {
	for {
		piece, err := next()
		if len(piece) > 0 && !p.proxy.muted(piece) {
			name := p.name.Load()
			if name == nil { // a server sends only after a command
				return
			}
			allowed, cut := p.proxy.pass(len(piece), true, *name)
			if p.cut.Load() {
				return
			}
			if _, werr := p.client.Write(piece[:allowed]); werr != nil {
				return
			}
			if cut {
				p.proxy.Cut()
				return
			}
		}
		if err != nil {
			return
		}
	}
}
