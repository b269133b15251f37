package idle_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/foliot/foliot/idle"
)

// A server shuts down: it stops accepting, and closes its connections one after
// another, so that the clients do not all move to the next server at once.
func ExampleGroup_Drain() {
	g := idle.New(idle.Config{AllIdle: 2 * time.Minute}, func(_ net.Conn, why idle.Reason) idle.Verdict {
		fmt.Println("closing one:", why)
		return idle.Close
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	l = idle.NewListener(l, g)
	for range 3 {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer client.Close()
		c, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}

	l.Close() // first: a drain closes new connections without an answer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = g.Drain(ctx, 30*time.Millisecond) // 10 * time.Second in production
	fmt.Println(err, g.Len())
	g.Close() // after ctx ended: stop watching the connections that are left
	// Output:
	// closing one: evicted
	// closing one: evicted
	// closing one: evicted
	// <nil> 0
}

// A connection gets a warning before it is closed, and some time to answer.
func ExampleKeepFor() {
	warned := false // `on` is never called twice at a time for one connection
	done := make(chan struct{})
	g := idle.New(idle.Config{ReadIdle: 20 * time.Millisecond}, func(name string, why idle.Reason) idle.Verdict {
		if !warned {
			warned = true
			fmt.Println(name, "is warned:", why) // the goroutine that writes for it sends the warning
			return idle.KeepFor(50 * time.Millisecond)
		}
		fmt.Println(name, "goes:", why)
		close(done)
		return idle.Close
	})
	defer g.Close()
	var alice idle.Entry
	_ = g.Track("alice", &alice)
	<-done
	// Output:
	// alice is warned: read idle
	// alice goes: read idle
}
