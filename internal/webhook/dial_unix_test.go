//go:build unix

package webhook

import (
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// Otherwise short timeouts at a host that does not answer would use all
// descriptors of the process, and the store could not open its next file.
func TestAnAttemptThatEndsLeavesNoDialBehind(t *testing.T) {
	for _, c := range []struct{ name, url string }{
		{"no answer to the connect", "http://" + blackHole(t)},
		{"no answer to the handshake", "https://" + tarPit(t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSender(t, Config{})
			before := runtime.NumGoroutine()
			for range 100 {
				if o := s.Deliver(t.Context(), delivery(t, c.url, timeout(2*time.Millisecond))); o.Verdict != task.Failure {
					t.Fatalf("verdict %v (%s), want a failure", o.Verdict, o.Error)
				}
			}
			// far less than the connect timeout
			for end := time.Now().Add(connectTimeout / 4); runtime.NumGoroutine() > before+20; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d goroutines more than before 100 attempts that have ended", runtime.NumGoroutine()-before)
				}
			}
		})
	}
}

// blackHole returns an address that does not answer to connects, because its
// backlog is full.
func blackHole(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	fatal.If(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	fatal.If(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	fatal.If(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	fatal.If(t, err)
	address := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	for range 4 {
		c, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("this system has no backlog that fills up")
	return ""
}

// tarPit returns an address that accepts connections and sends nothing.
func tarPit(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
