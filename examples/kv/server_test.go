package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves on loopback until the test ends, and checks that serve then
// returns without an error.
func start(t *testing.T, silence time.Duration) net.Addr {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports when a connection was last used")
	}
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, silence) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr()
}

// client is one connection.
type client struct {
	t *testing.T
	net.Conn
	in *bufio.Scanner
}

func dial(t *testing.T, to net.Addr) *client {
	t.Helper()
	c, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // limits the test
	return &client{t: t, Conn: c, in: bufio.NewScanner(c)}
}

// say sends a line and returns the reply; "" if the connection is closed.
func (c *client) say(line string) string {
	fmt.Fprintln(c, line)
	c.in.Scan()
	return c.in.Text()
}

// closedAfter waits for the server to close the connection, and returns the
// time until then.
func (c *client) closedAfter() time.Duration {
	c.t.Helper()
	began := time.Now()
	if c.in.Scan() {
		c.t.Fatalf("%q was sent without a request", c.in.Text())
	} else if errors.Is(c.in.Err(), os.ErrDeadlineExceeded) {
		c.t.Fatal("the server did not close the connection")
	}
	return time.Since(began)
}

func TestCommands(t *testing.T) {
	c := dial(t, start(t, time.Minute))
	for _, step := range []struct{ line, reply string }{
		{"PING", "PONG"},
		{"GET greeting", "NONE"},
		{"set greeting hello, world", "OK"},
		{"GET greeting", "VALUE hello, world"},
		{"DEL greeting", "OK"},
		{"GET greeting", "NONE"},
		{"SET greeting", "ERROR use PING, SET key value, GET key, DEL key or QUIT"},
		{"QUIT", "BYE"},
	} {
		if got := c.say(step.line); got != step.reply {
			t.Errorf("%q was answered by %q, want %q", step.line, got, step.reply)
		}
	}
	c.closedAfter()
}

func TestAnActiveClientStaysAndASilentOneIsClosedWithoutTouches(t *testing.T) {
	const silence = 400 * time.Millisecond
	addr := start(t, silence)
	asker, silent := dial(t, addr), dial(t, addr)
	if asker.say("PING") != "PONG" || silent.say("PING") != "PONG" {
		t.Fatal("no pong")
	}
	began := time.Now()
	every := time.NewTicker(silence / 8)
	defer every.Stop()
	var last time.Time // just before the last request
	for range 24 {     // three timeouts
		<-every.C
		last = time.Now()
		if asker.say("PING") != "PONG" {
			t.Fatalf("closed after %v, though it asked all the time", time.Since(began))
		}
	}
	if silent.closedAfter() > silence { // it was silent for three timeouts already
		t.Error("the silent one was closed too late")
	}
	asker.closedAfter()
	if took := time.Since(last); took < silence {
		t.Errorf("closed after %v of silence, the timeout is %v", took, silence)
	}
}

// A line that arrives a few bytes at a time is activity, although it is not a
// complete command. A program that touches for each command would not touch for
// it.
func TestAValueThatComesSlowlyCountsAsUse(t *testing.T) {
	const silence = 400 * time.Millisecond
	c := dial(t, start(t, silence))
	piece := time.NewTicker(silence / 8)
	defer piece.Stop()
	value := strings.Repeat("x", 24)
	fmt.Fprint(c, "SET slow ")
	for _, b := range []byte(value) {
		<-piece.C
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatalf("closed in the middle of a value: %v", err)
		}
	}
	if got := c.say(""); got != "OK" {
		t.Fatalf("answered by %q", got)
	}
	if got := c.say("GET slow"); got != "VALUE "+value {
		t.Errorf("answered by %q", got)
	}
}

func TestTheListenerDoesNotSpeakMultipathTCP(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports when a connection was last used")
	}
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d net.Dialer
	d.SetMultipathTCP(true)
	c, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if multipath, err := s.MultipathTCP(); err != nil || multipath {
		t.Errorf("multipath %v, %v", multipath, err)
	}
}
