// Package guard closes connections that are silent, in each of the ways that are compared.
package guard

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Guard closes connections that nobody used for its timeout.
type Guard interface {
	// Listen returns the listener that the server shall accept from.
	Listen(l net.Listener) net.Listener
	// Watch takes a connection that was accepted under guard.
	Watch(c net.Conn) (Conn, error)
	// Leave is called when the handler of a connection ends, before it closes the connection.
	Leave(c Conn)
	// Stalls tells how often all connections were given a new timeout because the process itself had no time.
	Stalls() int
	// Close ends what watches. The connections stay open.
	Close()
}

// Listen listens as all servers here do. With Multipath TCP, Go's default, the kernel can't be asked for a connection's ages.
func Listen(address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// Conn is a connection under guard. Its handler calls what is below beside each thing it does.
type Conn interface {
	net.Conn
	State() *Plain

	Reading()        // before each Read
	Heard(pong bool) // after each Read that returned something; pong: nothing but answers to pings
	Writing()        // before each Write
	Wrote()          // after each Write
}

// Plain is a connection without any timeout, and what the handler keeps of each. The others embed it, so that each costs
// what it adds.
type Plain struct {
	net.Conn
	Buf []byte
	ID  int
}

// State returns what the handler keeps.
func (p *Plain) State() *Plain { return p }

// NetConn leads to the socket.
func (p *Plain) NetConn() net.Conn { return p.Conn }

// Reading and the others do nothing.
func (*Plain) Reading()   {}
func (*Plain) Heard(bool) {}
func (*Plain) Writing()   {}
func (*Plain) Wrote()     {}

// plain is what all embed.
func plain(c net.Conn) Plain { return Plain{Conn: c, Buf: make([]byte, 256)} }

// Info is what is known of a guard beforehand.
type Info struct {
	Name, Title string
	What        string // a sentence
	Ours        bool

	Pongs  bool // it can tell a peer that does nothing but answer pings from one in use
	Writes bool // it sees that nothing could be sent for too long
	Inside bool // it works inside Read and Write: what one use costs cannot be told apart

	slack func(timeout time.Duration) time.Duration // nil: none
	open  func(timeout time.Duration) Guard
}

// Slack is how much later than the timeout it promises to close.
func (i *Info) Slack(timeout time.Duration) time.Duration {
	if i.slack == nil {
		return 0
	}
	return i.slack(timeout)
}

// None is the name of the server that closes nothing: what the others are compared with.
const None = "none"

// All lists them in the order of the tables.
var All = []Info{
	{
		Name: None, Title: "no timeouts",
		What: "closes nothing: what the others add is counted from here",
		open: func(time.Duration) Guard { return none{} },
	},
	{
		Name: "read-deadline", Title: "SetReadDeadline",
		What: "`SetReadDeadline` before each read",
		open: func(t time.Duration) Guard { return deadlines{timeout: t} },
	},
	{
		Name: "deadlines", Title: "both deadlines", Writes: true,
		What: "`SetReadDeadline` before each read and `SetWriteDeadline` before each write",
		open: func(t time.Duration) Guard { return deadlines{timeout: t, writes: true} },
	},
	{
		Name: "timer", Title: "time.Timer",
		What: "a `time.Timer` for each connection, `Reset` after each read",
		open: func(t time.Duration) Guard { return timers{timeout: t} },
	},
	{
		Name: "scan", Title: "scan",
		What:  "the time of the last read in each connection, and every second a look at all of them",
		slack: func(time.Duration) time.Duration { return scanEvery },
		open:  func(t time.Duration) Guard { return openScan(t) },
	},
	{
		Name: "idle-touch", Title: "idle, touches", Ours: true, Pongs: true, Writes: true,
		What:  "an `idle.Entry` in each connection, touched after each read and each write",
		slack: slackOf, open: openTouching,
	},
	{
		Name: "idle-wrap", Title: "idle, Listener", Ours: true, Inside: true, Pongs: true, Writes: true,
		What:  "`idle.NewListener`: its connections touch, and the handler knows nothing of it",
		slack: slackOf, open: openWrapping,
	},
	{
		Name: "idle-kernel", Title: "idle, kernel", Ours: true, Pongs: true, Writes: true,
		What:  "an `idle.Entry` in each connection, never touched: the kernel is asked",
		slack: slackOf, open: openKernel,
	},
}

// Find returns what is known of a guard.
func Find(name string) (*Info, error) {
	for i := range All {
		if All[i].Name == name {
			return &All[i], nil
		}
	}
	return nil, fmt.Errorf("there is no guard %q", name)
}

// Open starts a guard.
func Open(name string, timeout time.Duration) (Guard, error) {
	info, err := Find(name)
	if err != nil {
		return nil, err
	}
	return info.open(timeout), nil
}
