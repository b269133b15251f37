package idle_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/idle"
	"github.com/foliot/foliot/internal/fatal"
)

// The first lines are those of the package documentation.
func ExampleNew() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	listener.Close() // so that Serve ends at once; yours stays open
	handler := http.NotFoundHandler()

	group := idle.New(idle.Config{AllIdle: 2 * time.Minute}, func(c net.Conn, why idle.Reason) idle.Verdict {
		return idle.Close()
	})
	listener = idle.NewListener(listener, group)
	err = http.Serve(listener, handler) // each Read and Write is a use

	fmt.Println("the listener was closed:", err != nil)
	// Output: the listener was closed: true
}

func TestThePackageDocumentationShowsCodeThatCompiles(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	fatal.If(t, err)
	code, err := os.ReadFile("doc_example_test.go")
	fatal.If(t, err)
	_, rest, _ := strings.Cut(string(doc), "//\n//\t")
	block, _, found := strings.Cut(rest, "\n//\n")
	if block = "\t" + strings.ReplaceAll(block, "\n//", "\n"); !found || !strings.Contains(string(code), block) {
		t.Errorf("doc.go shows this code, and no example has it:\n%s", block)
	}
}

// A client pings its silent peer, and gives up if no pong comes.
func ExampleNewConn() {
	pings := make(chan struct{}, 1) // holds one ping to send
	g := idle.New(idle.Config{PingEvery: 50 * time.Millisecond, MaxMissed: 2}, func(_ net.Conn, why idle.Reason) idle.Verdict {
		fmt.Println(why)
		if why != idle.Ping {
			return idle.Close()
		}
		select {
		case pings <- struct{}{}: // a write here would block a worker if the peer does not read
		default:
		}
		return idle.Keep()
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
