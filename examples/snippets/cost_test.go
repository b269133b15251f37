package snippets

import (
	"net"
	"testing"
	"time"

	"github.com/foliot/foliot/idle"
)

// The costs in docs/idle.md.

func BenchmarkTouchRead(b *testing.B) {
	conns := idle.New(idle.Config{ReadIdle: time.Minute}, func(int, idle.Reason) idle.Verdict { return idle.Close() })
	var watch idle.Entry
	if err := conns.Track(1, &watch); err != nil {
		b.Fatal(err)
	}
	defer conns.Untrack(&watch)
	b.ReportAllocs()
	for b.Loop() {
		watch.TouchRead()
	}
}

func BenchmarkSetReadDeadline(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		c.SetReadDeadline(time.Now().Add(time.Minute))
	}
}

func BenchmarkTimerReset(b *testing.B) {
	timer := time.AfterFunc(time.Hour, func() {})
	defer timer.Stop()
	for b.Loop() {
		timer.Reset(time.Minute)
	}
}

func BenchmarkTimeSince(b *testing.B) {
	began := time.Now()
	for b.Loop() {
		_ = time.Since(began)
	}
}
