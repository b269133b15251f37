package idle_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/foliot/foliot/idle"
	"github.com/foliot/foliot/internal/fatal"
)

func Example() {
	conns := idle.New(idle.Config{AllIdle: 50 * time.Millisecond}, func(_ net.Conn, why idle.Reason) idle.Verdict {
		fmt.Println("closing a connection:", why)
		return idle.Close()
	})
	defer conns.Close()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l = idle.NewListener(l, conns) // the only change to the server
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() { // each Read and Write is a use
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()

	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	io.ReadAll(client) // a silent client
	fmt.Println("the server closed it")
	// Output:
	// closing a connection: all idle
	// the server closed it
}

func TestTheReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("readme_example_test.go")
	fatal.If(t, err)
	_, rest, _ := bytes.Cut(source, []byte("func Example() {\n"))
	example, _, _ := bytes.Cut(rest, []byte("\n}\n"))
	readme, err := os.ReadFile("README.md")
	fatal.If(t, err)
	if !bytes.Contains(readme, append([]byte("func main() {\n"), example...)) {
		t.Error("README.md shows another example than Example")
	}
}
