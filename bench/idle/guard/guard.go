// Package guard closes silent connections in each of the compared ways.
package guard

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// Guard closes connections that were not used for its timeout.
type Guard interface {
	// Listen returns the listener from which the server must accept.
	Listen(l net.Listener) net.Listener
	// Watch starts to guard an accepted connection.
	Watch(c net.Conn) (Conn, error)
	// Leave is called when the handler of a connection ends, before it closes
	// the connection.
	Leave(c Conn)
	// Stalls returns how often all connections got a new timeout because the
	// process itself was not running.
	Stalls() int
	// Close stops guarding. The connections stay open.
	Close()
}

// Listen listens as all servers here do. With Multipath TCP, Go's default, the
// kernel cannot report the ages of a connection.
func Listen(address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// Conn is a guarded connection. Its handler calls the methods below around its
// own actions.
type Conn interface {
	net.Conn
	State() *Plain

	Reading()        // before each Read
	Heard(pong bool) // after each Read with data; pong: it was only answers to pings
	Writing()        // before each Write
	Wrote()          // after each Write
}

// Plain is a connection without any timeout, with the state of its handler. The
// other guards embed it, so that the cost of each is the cost of its additions.
type Plain struct {
	net.Conn
	Buf []byte
	ID  int
}

// State returns the handler's state.
func (p *Plain) State() *Plain { return p }

// NetConn leads to the socket.
func (p *Plain) NetConn() net.Conn { return p.Conn }

// Reading and the other methods do nothing.
func (*Plain) Reading()   {}
func (*Plain) Heard(bool) {}
func (*Plain) Writing()   {}
func (*Plain) Wrote()     {}

// plain is embedded by all.
func plain(c net.Conn) Plain { return Plain{Conn: c, Buf: make([]byte, 256)} }

// Info describes a guard.
type Info struct {
	Name   string
	Ours   bool
	Pongs  bool // it can distinguish a peer that only answers pings from one in use
	Writes bool // it notices that no data could be sent for too long
	Inside bool // it works inside Read and Write: its cost for one use cannot be separated

	slack func(timeout time.Duration) time.Duration // nil means none
	open  func(timeout time.Duration) Guard
}

// Slack returns the promised limit for lateness.
func (i *Info) Slack(timeout time.Duration) time.Duration {
	if i.slack == nil {
		return 0
	}
	return i.slack(timeout)
}

// None is the name of the server that closes nothing. All other servers are
// compared with it.
const None = "none"

// All lists them.
var All = []Info{
	{
		Name: None,
		open: func(time.Duration) Guard { return none{} },
	},
	{
		Name: "read-deadline",
		open: func(t time.Duration) Guard { return deadlines{timeout: t} },
	},
	{
		Name: "deadlines", Writes: true,
		open: func(t time.Duration) Guard { return deadlines{timeout: t, writes: true} },
	},
	{
		Name: "timer",
		open: func(t time.Duration) Guard { return timers{timeout: t} },
	},
	{
		Name:  "scan",
		slack: func(time.Duration) time.Duration { return scanEvery },
		open:  func(t time.Duration) Guard { return openScan(t) },
	},
	{
		Name: "idle-touch", Ours: true, Pongs: true, Writes: true,
		slack: slackOf, open: openTouching,
	},
	{
		Name: "idle-wrap", Ours: true, Inside: true, Pongs: true, Writes: true,
		slack: slackOf, open: openWrapping,
	},
	{
		Name: "idle-kernel", Ours: true, Pongs: true, Writes: true,
		slack: slackOf, open: openKernel,
	},
}

// Find returns the description of a guard.
func Find(name string) (*Info, error) {
	i := slices.IndexFunc(All, func(x Info) bool { return x.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no guard %q", name)
	}
	return &All[i], nil
}

// Open starts a guard.
func Open(name string, timeout time.Duration) (Guard, error) {
	info, err := Find(name)
	if err != nil {
		return nil, err
	}
	return info.open(timeout), nil
}
