package webhook

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// cutter replies to the first request of each connection. It reads the second
// one and cuts the connection, like a restart of the receiver.
func cutter(t *testing.T, requests *atomic.Int32) (url string) {
	return rawServer(t, func(_ int, c net.Conn) {
		in := bufio.NewReader(c)
		for n := 1; ; n++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			requests.Add(1)
			if n == 2 {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
}

func TestNoRequestIsResentOnABrokenConnection(t *testing.T) {
	key := header("Idempotency-Key", "k")
	for _, c := range []struct {
		name  string
		edits []func(*task.Spec)
	}{
		{"GET", []func(*task.Spec){method("GET")}},
		{"HEAD", []func(*task.Spec){method("HEAD")}},
		{"OPTIONS", []func(*task.Spec){method("OPTIONS")}},
		{"GET with a body", []func(*task.Spec){method("GET"), body(task.TextBody, "q")}},
		{"DELETE with a key", []func(*task.Spec){method("DELETE"), key}},
		{"POST", nil},
		{"POST with a body", []func(*task.Spec){body(task.JSONBody, "{}")}},
		{"POST with a key", []func(*task.Spec){key}},
		{"POST with a key and a body", []func(*task.Spec){key, body(task.JSONBody, "{}")}},
		{"PUT with the other key", []func(*task.Spec){method("PUT"), header("X-Idempotency-Key", "k")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var requests atomic.Int32
			url := cutter(t, &requests)
			s := newSender(t, Config{})
			if o := s.Deliver(t.Context(), delivery(t, url)); o.Verdict != task.Success { // a connection to break
				t.Fatalf("the first attempt: %+v", o)
			}
			o := s.Deliver(t.Context(), delivery(t, url, c.edits...))
			if o.Verdict != task.Failure || !strings.Contains(o.Error, "before a reply came") {
				t.Errorf("the attempt that was cut: %+v", o)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("two attempts made %d requests", n)
			}
			if o := s.Deliver(t.Context(), delivery(t, url, c.edits...)); o.Verdict != task.Success {
				t.Errorf("the attempt after it: %+v", o)
			}
		})
	}
}
