package redistest

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func TestAReplyIsCutAfterSoManyBytes(t *testing.T) {
	s := New(t)
	p := NewProxy(t, s.Addr)
	if got, err := Command(t.Context(), p.Addr, "PING"); got != "+PONG" {
		t.Fatal(got, err)
	}
	p.CutReplyAfter(3)
	if got, err := Command(t.Context(), p.Addr, "SET", "a", strings.Repeat("x", 100)); err == nil {
		t.Fatalf("the reply came: %q", got)
	}
	if got, err := Command(t.Context(), p.Addr, "STRLEN", "a"); got != ":100" {
		t.Fatalf("the server has %q (%v): what it was told must have been carried out", got, err)
	}
}

func TestAFrozenProxySaysNothingAndThenGoesOn(t *testing.T) {
	s := New(t)
	p := NewProxy(t, s.Addr)
	p.Freeze()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if got, err := Command(ctx, p.Addr, "PING"); err == nil {
		t.Fatalf("it answered %q", got)
	}
	p.Thaw()
	if got, err := Command(t.Context(), p.Addr, "PING"); got != "+PONG" {
		t.Fatal(got, err)
	}
}

func TestACommandIsCarriedOutAndItsReplyCut(t *testing.T) {
	s := New(t)
	p := NewProxy(t, s.Addr)
	p.CutAt(func(command []string) bool { return command[0] == "INCR" })
	if got, err := Command(t.Context(), p.Addr, "INCR", "a"); err == nil {
		t.Fatalf("the reply came: %q", got)
	}
	if got, err := Command(t.Context(), p.Addr, "GET", "a"); got != "1" {
		t.Fatalf("the server has %q (%v): what it was told must have been carried out", got, err)
	}
}

func TestOneNameIsSparedFromAFreeze(t *testing.T) {
	s := New(t)
	p := NewProxy(t, s.Addr)
	p.FreezeBut("user")
	defer p.Thaw()
	if got, err := Command(t.Context(), p.Addr, "CLIENT", "SETNAME", "user"); got != "+OK" {
		t.Fatal(got, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if got, err := Command(ctx, p.Addr, "CLIENT", "SETNAME", "watcher"); err == nil {
		t.Fatalf("it answered %q", got)
	}
}

func TestAMuteProxyDropsMessagesAndNothingElse(t *testing.T) {
	s := New(t)
	p := NewProxy(t, s.Addr)
	p.Mute()
	conn, err := net.Dial("tcp", p.Addr)
	fatal.If(t, err)
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("HELLO 3\r\nSUBSCRIBE c\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if _, err := readValue(r); err != nil {
		t.Fatal(err)
	}
	if got, err := readValue(r); !strings.Contains(string(got), "subscribe") {
		t.Fatalf("%q %v", got, err)
	}
	if got, err := Command(t.Context(), s.Addr, "PUBLISH", "c", "m"); got != ":1" {
		t.Fatalf("nobody listens: %q %v", got, err)
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := readValue(r); string(got) != "+PONG\r\n" {
		t.Fatalf("after the message that was dropped came %q %v", got, err)
	}
}
