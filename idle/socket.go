package idle

import (
	"errors"
	"fmt"
	"iter"
	"net"
	"runtime"
	"syscall"
)

// errMultipath is rawOf's error where the figures would be those of one path among several.
var errMultipath = errors.New("idle: the kernel can't be asked about a Multipath TCP connection: it tells of one path alone; " +
	"use NewConn or NewListener, which touch, or listen with net.ListenConfig.SetMultipathTCP(false)")

// tcpConn is what *net.TCPConn has, and whatever embeds one.
type tcpConn interface {
	syscall.Conn
	MultipathTCP() (bool, error)
}

// rawOf returns the socket of the TCP connection that c is or, by its method NetConn, lies on; as *tls.Conn does, and the connections
// of NewConn. The kernel was asked about it once, and answered.
func rawOf(c any) (syscall.RawConn, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("idle: the kernel can't be asked about connections on %s, but on Linux only: use Config.Activity Touch",
			runtime.GOOS)
	}
	tcp, ok := find[tcpConn](c)
	if !ok {
		return nil, fmt.Errorf("idle: the kernel can't be asked about a %T: it is no TCP connection, nor has it a method NetConn that "+
			"leads to one; use Config.Activity Touch", c)
	}
	raw, err := tcp.SyscallConn()
	if err == nil {
		err = raw.Control(func(uintptr) {})
	}
	if err != nil { // closed: MultipathTCP would say yes
		return nil, fmt.Errorf("idle: ask the kernel about a connection: %w", err)
	}
	if several, err := tcp.MultipathTCP(); err != nil {
		return nil, fmt.Errorf("idle: ask the kernel about a connection: %w", err)
	} else if several {
		return nil, errMultipath
	}
	if _, _, ok := newProbe().ages(raw); !ok {
		return nil, errors.New("idle: this kernel does not tell when a connection was used (getsockopt TCP_INFO): use Config.Activity Touch")
	}
	return raw, nil
}

// find returns the first T among c and what it lies on.
func find[T any](c any) (found T, ok bool) {
	if found, ok = c.(T); ok {
		return found, true
	}
	for inner := range below(c) {
		if found, ok = inner.(T); ok {
			return found, true
		}
	}
	return found, false
}

// below yields the connections on which c lies, one on the other, by their methods NetConn.
func below(c any) iter.Seq[net.Conn] {
	return func(yield func(net.Conn) bool) {
		for range deepest {
			above, ok := c.(interface{ NetConn() net.Conn })
			if !ok {
				return
			}
			inner := above.NetConn()
			if inner == nil || !yield(inner) {
				return
			}
			c = inner
		}
	}
}

// deepest is how many connections may lie on each other: with more, a NetConn leads in a circle.
const deepest = 16
