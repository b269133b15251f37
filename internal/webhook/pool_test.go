package webhook

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

func inNamespace(name string) func(*task.Spec) {
	return func(s *task.Spec) { s.Namespace = name }
}

func TestAKeptConnectionServesOneNamespaceOnly(t *testing.T) {
	users := func() (http.Handler, func(remote string) string) {
		var mu sync.Mutex // guards seen
		seen := map[string]string{}
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.RemoteAddr] += r.Header.Get("X-Tenant") + " "
		})
		return handler, func(order string) string {
			mu.Lock()
			defer mu.Unlock()
			for _, got := range seen {
				if got == order {
					return ""
				}
			}
			return fmt.Sprintf("no connection carried %q alone: %v", order, seen)
		}
	}
	for _, secure := range []bool{false, true} {
		handler, check := users()
		server := httptest.NewUnstartedServer(handler)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		defer server.Close()
		s := newSender(t, Config{})
		if secure {
			trust(s, server)
		}
		for _, tenant := range []string{"a", "b", "a", "b", "a.b"} {
			o := s.Deliver(t.Context(), delivery(t, server.URL, inNamespace(tenant), header("X-Tenant", tenant)))
			if o.Verdict != task.Success {
				t.Fatalf("%+v", o)
			}
		}
		for _, order := range []string{"a a ", "b b ", "a.b "} {
			if wrong := check(order); wrong != "" {
				t.Error(wrong)
			}
		}
	}
}

// deafToBodies replies to each request without reading its body, as some
// receivers do with GET: it takes the bytes after a header for the next
// request. It replies with the last X-Secret that it read.
func deafToBodies(t *testing.T, closes *atomic.Int32) string {
	return rawServer(t, func(_ int, c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.Close { // the client must not use the connection again, but does
				closes.Add(1)
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.Header.Get("X-Secret")), r.Header.Get("X-Secret"))
			if r.Method == http.MethodPost || r.Method == http.MethodPut { // the body of these is read
				_, _ = io.CopyN(io.Discard, in, r.ContentLength)
			}
		}
	})
}

// The body contains the beginning of a request, which would swallow the header
// of the next request on the connection.
func TestAnIgnoredBodyIsNotReadAsTheNextRequest(t *testing.T) {
	for _, m := range []string{"GET", "HEAD", "DELETE", "OPTIONS"} {
		var closes atomic.Int32
		url := deafToBodies(t, &closes)
		s := newSender(t, Config{})
		smuggled := "GET /smuggled HTTP/1.1\r\nHost: inside\r\nX-Swallows: "
		if o := s.Deliver(t.Context(), delivery(t, url, method(m), body(task.TextBody, smuggled))); o.Verdict != task.Success {
			t.Errorf("%s: %+v", m, o)
		}
		if n := closes.Load(); n != 1 {
			t.Errorf("%s: %d requests asked to close the connection", m, n)
		}
		o := s.Deliver(t.Context(), delivery(t, url, method("PUT"), header("X-Secret", "mine"), body(task.TextBody, "x")))
		if o.Verdict != task.Success || o.Reply != "mine" {
			t.Errorf("%s: the next request on that connection got %+v", m, o)
		}
	}
}

func TestMethodsWhoseBodyIsReadKeepTheirConnection(t *testing.T) {
	var dials atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(bytes.Repeat([]byte("x"), maxReplyRead-1))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			dials.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	s := newSender(t, Config{})
	for range 2 {
		for _, edits := range [][]func(*task.Spec){
			{method("GET")},
			{method("HEAD")},
			{method("DELETE")},
			{method("OPTIONS")},
			{method("POST"), body(task.BinaryBody, strings.Repeat("x", task.MaxBody))},
			{method("PUT"), body(task.TextBody, "x")},
			{method("PATCH"), body(task.TextBody, "x")},
		} {
			if o := s.Deliver(t.Context(), delivery(t, server.URL, edits...)); o.Verdict != task.Success {
				t.Fatalf("%+v", o)
			}
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections, one is enough", n)
	}
}

// A receiver sees the host of the URL, and errors name it.
func TestReceiversAndErrorsSeeTheHostOfTheURL(t *testing.T) {
	got := make(chan string, 1)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Host + " " + r.RequestURI })
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	s := newSender(t, Config{})
	if o := s.Deliver(t.Context(), delivery(t, "http://localhost"+port+"/a?b=c")); o.Verdict != task.Success {
		t.Fatalf("%+v", o)
	}
	if host := <-got; host != "localhost"+port+" /a?b=c" {
		t.Errorf("the receiver saw %q", host)
	}
	server.Close()
	o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, "http://localhost"+port+"/"))
	if want := "cannot connect to localhost" + port + ": connection refused"; o.Error != want {
		t.Errorf("got %q, want %q", o.Error, want)
	}
}
