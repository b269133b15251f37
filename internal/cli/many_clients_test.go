package cli

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/servertest"
)

// crowd is the number of idle connections besides the busy ones. 10,000 of them
// need a limit of 20,000 open files (ulimit -n).
var crowd = flag.Int("crowd", 500, "idle connections of TestIdleConnectionsAreClosedAndBusyOnesStayOpen")

// keptConn is a connection that a test keeps.
type keptConn struct {
	net.Conn
	read *bufio.Reader
}

func dialKept(t *testing.T, p *process) *keptConn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &keptConn{c, bufio.NewReader(c)}
}

// ask sends a request and reads its reply.
func (c *keptConn) ask() error {
	if _, err := io.WriteString(c, "GET /v1/tasks/none HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	reply, err := http.ReadResponse(c.read, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return err
}

// resident returns the resident memory of a process in bytes.
func (p *process) resident() int64 {
	var pages, resident int64
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err == nil {
		_, err = fmt.Sscan(string(data), &pages, &resident)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

func TestIdleConnectionsAreClosedAndBusyOnesStayOpen(t *testing.T) {
	quick.Leave(t, "waits for seconds of silence")
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	const busy = 20
	p := serveProcess(t, "--listen", anyPort, "--store", "memory:", "--idle-timeout", "2s", "--log-level", "error")
	var stop atomic.Bool
	var requests atomic.Int64
	var working sync.WaitGroup
	for range busy {
		c := dialKept(t, p)
		working.Go(func() {
			for !stop.Load() {
				if err := c.ask(); err != nil {
					t.Errorf("a busy connection ended after %d requests: %v", requests.Load(), err)
					return
				}
				requests.Add(1)
			}
		})
	}
	before := p.resident()
	idle := make([]*keptConn, *crowd)
	for i := range idle {
		idle[i] = dialKept(t, p)
		if err := idle[i].ask(); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	began := time.Now()
	t.Logf("%d idle connections take %d bytes each", len(idle), (p.resident()-before)/int64(len(idle)))
	for i, c := range idle {
		_ = c.SetReadDeadline(time.Now().Add(servertest.Patience))
		if _, err := c.read.ReadByte(); err != io.EOF {
			t.Fatalf("idle connection %d: %v, want its end", i, err)
		}
	}
	t.Logf("all closed %v after the last one's request; during this time, %d requests over %d busy connections", time.Since(began).Round(time.Millisecond), requests.Load(), busy)
	stop.Store(true)
	working.Wait()
}
