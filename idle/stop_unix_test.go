//go:build unix

package idle

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

const (
	stopTimeout    = 600 * time.Millisecond
	stopResolution = 20 * time.Millisecond
	stopServer     = "IDLE_TEST_STOPPED_SERVER"
)

// TestServerToBeStopped is the child process of the next test. It reads from
// every connection until the group closes it, and ends with its standard input.
func TestServerToBeStopped(t *testing.T) {
	if os.Getenv(stopServer) == "" {
		t.Skip("the process of TestNoConnectionIsClosedBecauseTheProcessWasStopped")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	g := New(Config{ReadIdle: stopTimeout, Resolution: stopResolution}, func(net.Conn, Reason) Verdict { return Close() })
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("listening on", l.Addr())
	for l := NewListener(l, g); ; {
		c, err := l.Accept()
		fatal.If(t, err)
		go func() {
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}()
	}
}

// talker is a connection to the server, and its outcome.
type talker struct {
	net.Conn
	closed chan time.Time
}

func talk(t *testing.T, addr string) *talker {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	fatal.If(t, err)
	k := &talker{c, make(chan time.Time, 1)}
	go func() {
		_, _ = k.Read(make([]byte, 1)) // the server sends nothing: this ends with the connection
		k.closed <- time.Now()
	}()
	t.Cleanup(func() { _ = c.Close() })
	return k
}

func (k *talker) isClosed() bool { return len(k.closed) > 0 }

func TestNoConnectionIsClosedBecauseTheProcessWasStopped(t *testing.T) {
	quick.Leave(t, "stops processes")
	server := exec.Command(os.Args[0], "-test.run=^TestServerToBeStopped$")
	server.Env = append(os.Environ(), stopServer+"=1")
	in, err := server.StdinPipe()
	fatal.If(t, err)
	out, err := server.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, server.Start())
	defer func() {
		_ = server.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		_ = server.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	fatal.If(t, err)
	addr := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))

	const each = 20
	var lively, late, silent []*talker // these talk always; from shortly before a timeout after the stop; never
	for range each {
		lively, late, silent = append(lively, talk(t, addr)), append(late, talk(t, addr)), append(silent, talk(t, addr))
	}
	say := func(all []*talker) {
		for _, k := range all {
			_, _ = k.Write([]byte("x"))
		}
	}
	chat := func(d time.Duration, all ...[]*talker) {
		for until := time.Now().Add(d); time.Now().Before(until); {
			for _, some := range all {
				say(some)
			}
			time.Sleep(20 * time.Millisecond) // the speed of a peer, in real time
		}
	}
	say(silent)
	chat(stopTimeout/2, lively, late)
	fatal.If(t, server.Process.Signal(syscall.SIGSTOP))
	chat(2*stopTimeout, lively)
	woken := time.Now()
	fatal.If(t, server.Process.Signal(syscall.SIGCONT))
	chat(stopTimeout*2/3, lively)
	for what, all := range map[string][]*talker{"talked all the time": lively, "had not had a timeout to speak": late, "was silent, but had no full timeout": silent} {
		for _, k := range all {
			if k.isClosed() {
				t.Fatalf("closed %v after the stop: one that %s", (<-k.closed).Sub(woken), what)
			}
		}
	}
	open := func(k *talker) bool { return !k.isClosed() }
	for until := time.Now().Add(time.Minute); slices.ContainsFunc(silent, open) && time.Now().Before(until); { // long on a busy machine
		chat(stopTimeout/2, lively, late)
	}
	for k := range each {
		if lively[k].isClosed() || late[k].isClosed() {
			t.Error("a live connection was closed")
		}
		if !silent[k].isClosed() {
			t.Error("a silent connection was not closed")
		} else if after := (<-silent[k].closed).Sub(woken); after < stopTimeout {
			t.Errorf("closed %v after the stop, with a timeout of %v", after, stopTimeout)
		}
	}
}
