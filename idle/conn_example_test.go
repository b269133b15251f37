package idle_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/foliot/foliot/idle"
)

// A client pings its silent peer, and gives up if no pong comes.
func ExampleNewConn() {
	pings := make(chan struct{}, 1) // holds one ping to send
	g := idle.New(idle.Config{PingEvery: 50 * time.Millisecond, MaxMissed: 2}, func(_ net.Conn, why idle.Reason) idle.Verdict {
		fmt.Println(why)
		if why != idle.Ping {
			return idle.Close
		}
		select {
		case pings <- struct{}{}: // a write here would block a worker if the peer does not read
		default:
		}
		return idle.Keep
	})
	defer g.Close()

	here, there := net.Pipe()
	go io.Copy(io.Discard, there) // reads, and never answers

	c := idle.NewConn(here, g)
	defer c.Close()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-pings:
				_, _ = io.WriteString(c, "ping\n") // an error also ends the Read below
			case <-done:
				return
			}
		}
	}()

	_, err := c.Read(make([]byte, 100)) // a read is a sign of life; otherwise call c.(interface{ Pong() }).Pong()
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded), err)
	// Output:
	// ping
	// ping
	// pong timeout
	// true read pipe pipe->pipe: closed by package idle
}
