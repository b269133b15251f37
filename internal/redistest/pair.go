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
func (o *pair) run() {
	o.proxy.mu.Lock()
	whole := o.proxy.judge != nil || o.proxy.mute
	o.proxy.mu.Unlock()
	read := pieces
	if whole {
		read = values
	}
	var requests sync.WaitGroup
	requests.Go(func() {
		o.requests(read(o.client))
		if tcp, ok := o.server.(*net.TCPConn); ok && o.cut.Load() {
			_ = tcp.CloseWrite() // the server still reads the bytes that it was sent
			return
		}
		_ = o.server.Close()
	})
	o.replies(read(o.server))
	_ = o.client.Close()
	if o.cut.Load() {
		_, _ = io.Copy(io.Discard, o.server)
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

func (o *pair) requests(next func() ([]byte, error)) {
	for {
		piece, err := next()
		if len(piece) > 0 {
			if o.name.Load() == nil {
				o.readName(piece)
			}
			if o.proxy.doomed(piece) {
				o.cut.Store(true)
			}
			o.proxy.pass(len(piece), false, *o.name.Load())
			if _, werr := o.server.Write(piece); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readName finds the client's name in its first command.
func (o *pair) readName(first []byte) {
	name := ""
	if found := naming.FindSubmatch(first); found != nil {
		name = string(found[1])
	}
	o.name.Store(&name)
}

func (o *pair) replies(next func() ([]byte, error)) {
	for {
		piece, err := next()
		if len(piece) > 0 && !o.proxy.muted(piece) {
			name := o.name.Load()
			if name == nil { // a server sends only after a command
				return
			}
			allowed, cut := o.proxy.pass(len(piece), true, *name)
			if o.cut.Load() {
				return
			}
			if _, werr := o.client.Write(piece[:allowed]); werr != nil {
				return
			}
			if cut {
				o.proxy.Cut()
				return
			}
		}
		if err != nil {
			return
		}
	}
}
