package redistest

import (
	"context"
	"strings"
	"testing"
	"time"
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
