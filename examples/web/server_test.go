package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves on loopback until the test ends, and checks that serve then
// returns without an error.
func start(t *testing.T, limit limits) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, limit) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr()
}

// client is one connection, so that a test sees its close: http.Client would
// open another.
type client struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, to net.Addr) *client {
	t.Helper()
	c, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // limits the test
	return &client{t: t, Conn: c, in: bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads a response, and returns its status and body.
func (c *client) answer() (int, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func (c *client) get(path string) (int, string) {
	c.t.Helper()
	c.send("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n")
	return c.answer()
}

// closedAfter waits for the server to close the connection, and returns the
// time until then.
func (c *client) closedAfter() time.Duration {
	c.t.Helper()
	began := time.Now()
	if _, err := c.in.ReadByte(); err == nil {
		c.t.Fatal("the server sent data without a request")
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatal("the server did not close the connection")
	}
	return time.Since(began)
}

func TestAKeptConnectionIsClosedWhenNoRequestComes(t *testing.T) {
	const silence = 300 * time.Millisecond
	c := dial(t, start(t, limits{idle: silence}))
	for end := time.Now().Add(3 * silence); time.Now().Before(end); { // used repeatedly: it stays
		if status, _ := c.get("/slow?for=20ms"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	if took := c.closedAfter(); took < silence*9/10 { // counted from slightly after the response
		t.Errorf("closed after %v, the timeout is %v", took, silence)
	}
}

func TestALongRequestIsNotClosed(t *testing.T) {
	const silence = 200 * time.Millisecond
	c := dial(t, start(t, limits{idle: silence}))
	if status, body := c.get("/slow?for=1s"); status != http.StatusOK || !strings.Contains(body, "here you are") {
		t.Errorf("status %d, %q", status, body)
	}
}

func TestAgeWaitsForTheEndOfARequest(t *testing.T) {
	const age = 200 * time.Millisecond
	c := dial(t, start(t, limits{idle: time.Hour, age: age}))
	if status, _ := c.get("/slow?for=800ms"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	c.closedAfter()
}

func TestTheServersOwnDeadlineForAHeaderStays(t *testing.T) {
	const header = 200 * time.Millisecond
	c := dial(t, start(t, limits{idle: time.Hour, header: header}))
	began := time.Now()
	c.send("GET / HTTP/1.1\r\nHo")
	answer, err := io.ReadAll(c.in)
	if took := time.Since(began); err != nil || took < header*9/10 {
		t.Errorf("closed after %v, the limit is %v (%q, %v)", took, header, answer, err)
	}
}

func TestAnUploadMayTakeLongButNotStand(t *testing.T) {
	const stall = 400 * time.Millisecond
	addr := start(t, limits{idle: stall / 2, stall: stall})

	slow := dial(t, addr)
	slow.send("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 20\r\n\r\n")
	piece := time.NewTicker(stall / 5)
	defer piece.Stop()
	for range 20 {
		<-piece.C
		slow.send("x")
	}
	if status, body := slow.answer(); status != http.StatusOK || body != "20 bytes\n" {
		t.Errorf("slow, but moving: status %d, %q", status, body)
	}

	standing := dial(t, addr)
	standing.send("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 20\r\n\r\nxxx")
	want := fmt.Sprintf("no data came for %v, after 3 bytes\n", stall)
	if status, body := standing.answer(); status != http.StatusRequestTimeout || body != want {
		t.Errorf("standing: status %d, %q", status, body)
	}
}

func TestTheServerFinishesWhatIsUnderWayWhenItEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, limits{idle: time.Minute, stall: time.Minute}) }()
	c := dial(t, l.Addr())
	c.send("POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
	if status, _ := c.answer(); status != http.StatusContinue { // the upload is under way
		t.Fatalf("status %d", status)
	}
	cancel()
	c.send("end")
	if status, body := c.answer(); status != http.StatusOK || body != "3 bytes\n" {
		t.Errorf("status %d, %q", status, body)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}
