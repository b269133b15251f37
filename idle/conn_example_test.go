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

// An echo server closes silent connections. The handler does not know about it:
// its io.Copy ends, and it cleans up as usual. The copy is still one splice in
// the kernel, without a copy into the program.
func ExampleNewListener() {
	g := idle.New(idle.Config{AllIdle: 100 * time.Millisecond}, func(_ net.Conn, why idle.Reason) idle.Verdict {
		fmt.Println("closing one:", why)
		return idle.Close
	})
	defer g.Close()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	l = idle.NewListener(l, g)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()

	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	io.WriteString(client, "hello")
	answer, _ := io.ReadAll(client) // until the server closes
	fmt.Printf("%s\n", answer)
	// Output:
	// closing one: all idle
	// hello
}

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
