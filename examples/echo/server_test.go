package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves on loopback until the test ends, and checks that serve then
// returns without an error.
func start(t *testing.T, l net.Listener, limit limits) net.Addr {
	t.Helper()
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

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// dial connects, with a deadline that limits the test.
func dial(t *testing.T, to net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// echoes reports whether the server returns the data.
func echoes(t *testing.T, c net.Conn) bool {
	t.Helper()
	if _, err := c.Write([]byte("hello")); err != nil {
		return false
	}
	_, err := io.ReadFull(c, make([]byte, 5))
	return err == nil
}

// closedAfter waits for the server to close c, and returns the time until then.
// It returns 0 if another event came first.
func closedAfter(c net.Conn) time.Duration {
	began := time.Now()
	_, err := c.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return 0
	}
	return time.Since(began)
}

// One connection talks every eighth of the timeout, for several timeouts.
// Another falls silent after its first word.
func TestWhoTalksStaysAndWhoIsSilentIsClosed(t *testing.T) {
	const silence = 400 * time.Millisecond
	addr := start(t, listen(t), limits{idle: silence})
	talker, silent := dial(t, addr), dial(t, addr)
	if !echoes(t, talker) || !echoes(t, silent) {
		t.Fatal("no echo")
	}
	closed := make(chan time.Duration, 1)
	go func() { closed <- closedAfter(silent) }()

	word := time.NewTicker(silence / 8)
	defer word.Stop()
	var took time.Duration
	for end := time.After(4 * silence); end != nil; {
		select {
		case <-word.C:
			if !echoes(t, talker) {
				t.Fatal("the talker was closed")
			}
		case took = <-closed:
		case <-end:
			end = nil
		}
	}
	if took < silence*9/10 { // counted from slightly after the last use
		t.Errorf("the silent one was closed after %v, the timeout is %v", took, silence)
	}
}

func TestWhoNeverSaysAnythingIsClosedByTheLimitForTheFirstByte(t *testing.T) {
	const first = 200 * time.Millisecond
	addr := start(t, listen(t), limits{idle: time.Hour, first: first})
	talker := dial(t, addr)
	if !echoes(t, talker) {
		t.Fatal("no echo")
	}
	mute := dial(t, addr)
	if took := closedAfter(mute); took < first*9/10 {
		t.Errorf("closed after %v, the limit is %v", took, first)
	}
	if !echoes(t, talker) {
		t.Error("one that had spoken was closed as well")
	}
}

func TestAServerThatEndsClosesAll(t *testing.T) {
	l := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, limits{idle: time.Hour}) }()
	c := dial(t, l.Addr())
	if !echoes(t, c) {
		t.Fatal("no echo")
	}
	cancel()
	if closedAfter(c) == 0 {
		t.Error("the connection was left open")
	}
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// poor is a listener that runs out of descriptors once.
type poor struct {
	net.Listener
	without atomic.Bool
}

func (p *poor) Accept() (net.Conn, error) {
	if p.without.CompareAndSwap(true, false) {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return p.Listener.Accept()
}

func TestAServerWithoutDescriptorsClosesTheIdlestAndGoesOn(t *testing.T) {
	l := &poor{Listener: listen(t)}
	addr := start(t, l, limits{idle: time.Hour})
	idler := dial(t, addr)
	if !echoes(t, idler) {
		t.Fatal("no echo")
	}
	l.without.Store(true)
	dial(t, addr) // wakes the Accept under way; the next has no descriptor
	if closedAfter(idler) == 0 {
		t.Error("the idlest was left open")
	}
	if !echoes(t, dial(t, addr)) {
		t.Error("no client is served any more")
	}
}
