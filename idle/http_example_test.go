package idle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/foliot/foliot/idle"
)

// A server closes connections after two minutes between requests, and after an
// hour at the latest. When it shuts down, it closes idle connections at once,
// and the others after their request.
func ExampleWatchServer() {
	g := idle.New(idle.Config{
		AllIdle:   2 * time.Minute,  // longer than the proxy in front waits
		Handshake: 10 * time.Second, // for TLS, and the start of the first request
		MaxAge:    time.Hour,
	}, func(net.Conn, idle.Reason) idle.Verdict { return idle.Close })
	defer g.Close()

	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello")
	})}
	idle.WatchServer(s, g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		fmt.Println("served until the listener was closed:", errors.Is(s.Serve(l), net.ErrClosed))
	}()

	reply, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	fmt.Printf("%s, %d connection\n", body, g.Len())

	l.Close() // first: a drain closes new connections without an answer
	<-served  // otherwise Shutdown might close l too, and return that error
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(g.Drain(ctx, 0), g.Len()) // with many connections, spread them over a time, so that they do not all return at once
	fmt.Println(s.Shutdown(ctx))
	// Output:
	// hello, 1 connection
	// served until the listener was closed: true
	// <nil> 0
	// <nil>
}
