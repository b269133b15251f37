//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// process is a chat in a process of its own, or in one that inherited its
// listener.
type process struct {
	lines chan string // their log
}

var listens = regexp.MustCompile(`process (\d+) listens on http://(\S+)`)

// launch starts a process. At the end of the test it ends that process and all
// its successors.
func launch(t *testing.T) (p *process, pid int, address string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-listen", "127.0.0.1:0", "-spread", "300ms", "-goodbye", "1s")
	command.Env = append(os.Environ(), asServer+"=1")
	command.Stderr = w
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	p = &process{lines: make(chan string, 100)}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(p.lines)
		for in := bufio.NewScanner(r); in.Scan(); {
			p.lines <- in.Text()
		}
	})
	t.Cleanup(func() {
		command.Wait()
		reading.Wait() // until the last process with the pipe has ended
		r.Close()
	})
	pid, address = p.serving(t)
	return p, pid, address
}

// serving waits until a process reports that it serves.
func (p *process) serving(t *testing.T) (pid int, address string) {
	t.Helper()
	for limit := time.After(20 * time.Second); ; {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatal("all processes have ended")
			}
			t.Log(line)
			if m := listens.FindStringSubmatch(line); m != nil {
				pid, _ = strconv.Atoi(m[1])
				t.Cleanup(func() { syscall.Kill(pid, syscall.SIGTERM) }) // fails if it has ended
				return pid, m[2]
			}
		case <-limit:
			t.Fatal("no process serves")
		}
	}
}

// refused counts the requests without a reply while the test runs.
func refused(t *testing.T, address string) (stop func() (asked, failed int)) {
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{DisableKeepAlives: true} // each request on a connection of its own
	var asking sync.WaitGroup
	var asked, failed int
	asking.Go(func() {
		client := http.Client{Transport: transport, Timeout: 10 * time.Second}
		for ; ctx.Err() == nil; asked++ {
			answer, err := client.Get("http://" + address + "/")
			if err != nil {
				failed++
				t.Log(err)
				continue
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
	return func() (int, int) {
		cancel()
		asking.Wait()
		return asked, failed
	}
}

func TestAReloadRefusesNoClientAndSaysGoodbyeToAll(t *testing.T) {
	p, old, address := launch(t)
	guests := make([]*guest, 10)
	for i := range guests {
		guests[i] = visit(t, address, "guest"+strconv.Itoa(i))
	}
	stop := refused(t, address)

	syscall.Kill(old, syscall.SIGHUP)
	heir, same := p.serving(t)
	if heir == old || same != address {
		t.Errorf("process %d on %s took over from %d on %s", heir, same, old, address)
	}
	for i, g := range guests {
		if err := <-g.ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("guest %d: %v", i, err)
		}
		guests[i] = visit(t, address, "guest"+strconv.Itoa(i)) // as a browser reconnects after a while
	}
	guests[0].say(t, "we are back")
	for i, g := range guests {
		if !g.hears("guest0: we are back") {
			t.Errorf("guest %d is not back", i)
		}
	}
	if asked, failed := stop(); failed > 0 || asked == 0 {
		t.Errorf("of %d requests during the reload %d were refused", asked, failed)
	}
	syscall.Kill(heir, syscall.SIGTERM)
	for i, g := range guests {
		if err := <-g.ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("guest %d, at the end: %v", i, err)
		}
	}
}

func TestAReloadThatFailsChangesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := start(l, quick)
	defer s.stop(context.Background())
	g := visit(t, l.Addr().String(), "guest")

	args := os.Args
	os.Args = []string{args[0], "-no-such-flag"} // which ends the new process at once
	defer func() { os.Args = args }()
	t.Setenv(asServer, "1")
	if err := handOn(l); err == nil {
		t.Error("a process that does not serve took over")
	}
	g.say(t, "still here")
	if !g.hears("guest: still here") {
		t.Error("the chat has ended")
	}
}
