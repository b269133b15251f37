package idle

import (
	"errors"
	"fmt"
	"iter"
	"net"
	"runtime"
	"syscall"
)

// errMultipath is returned by rawOf if the kernel would report only one of
// several paths.
var errMultipath = errors.New("idle: the kernel reports only one path of a Multipath TCP connection: " +
	"use NewConn or NewListener, which touch, or listen with net.ListenConfig.SetMultipathTCP(false)")

// tcpConn has the methods of *net.TCPConn and of types that embed one.
type tcpConn interface {
	syscall.Conn
	MultipathTCP() (bool, error)
}

// rawOf returns the socket of a TCP connection, after it has read the kernel
// once with success. c is that connection, or its NetConn leads to it, as for
// *tls.Conn and the results of NewConn.
func rawOf(c any) (syscall.RawConn, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("idle: Config.Activity Kernel needs Linux, and this is %s: use Config.Activity Touch",
			runtime.GOOS)
	}
	tcp, ok := find[tcpConn](c)
	if !ok {
		return nil, fmt.Errorf("idle: the kernel cannot report on a %T: it is not a TCP connection and has no method NetConn that "+
			"leads to one: use Config.Activity Touch", c)
	}
	raw, err := tcp.SyscallConn()
	if err == nil {
		err = raw.Control(func(uintptr) {})
	}
	if err != nil { // closed: MultipathTCP would return true
		return nil, fmt.Errorf("idle: read TCP_INFO of a connection: %w", err)
	}
	if several, err := tcp.MultipathTCP(); err != nil {
		return nil, fmt.Errorf("idle: read TCP_INFO of a connection: %w", err)
	} else if several {
		return nil, errMultipath
	}
	if _, _, ok := newProbe().ages(raw); !ok {
		return nil, errors.New("idle: this kernel does not report when a connection was used (getsockopt TCP_INFO): use Config.Activity Touch")
	}
	return raw, nil
}

// find returns the first T among c and the connections below it.
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

// below yields the connections below c, each by the NetConn of the one above.
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

// deepest is the highest number of connections below another, because with
// more, NetConn leads in a circle.
const deepest = 16
