package webhook

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// serveAt counts requests at an address of loopback, on the port of addr or on
// a free one.
func serveAt(t *testing.T, addr string, requests *atomic.Int32) (port string) {
	t.Helper()
	l, err := net.Listen("tcp4", addr)
	fatal.If(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Connection", "close") // the next attempt dials again
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	_, port, err = net.SplitHostPort(l.Addr().String())
	fatal.If(t, err)
	return port
}

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func denied(o task.Outcome) bool {
	return o.Verdict == task.Refusal && o.Reason == task.ReasonEgressDenied && o.Error == task.EgressRefused && (strings.Contains(o.Detail, allowFlag) || strings.Contains(o.Detail, denyFlag))
}

func TestADeniedAddressIsDeadAtOnceAndNamesTheFlag(t *testing.T) {
	var requests atomic.Int32
	port := serveAt(t, "127.0.0.1:0", &requests)
	s := New(Config{})
	defer s.Close()
	s.dialer.Resolver = names(func(string) []netip.Addr { return addrs("127.0.0.1") }).resolver()
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "inside.test", "0.0.0.0", "169.254.169.254", "[fd00:ec2::254]"} {
		if o := s.Deliver(t.Context(), delivery(t, "http://"+host+":"+port+"/")); !denied(o) {
			t.Errorf("%s: %+v", host, o)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestTheServersOwnPortIsDeniedThoughLoopbackIsOpen(t *testing.T) {
	var requests atomic.Int32
	port := serveAt(t, "127.0.0.1:0", &requests)
	s := newSender(t, Config{AllowLoopback: always, Own: owning("127.0.0.1:" + port)})
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]"} {
		if o := s.Deliver(t.Context(), delivery(t, "http://"+host+":"+port+"/v1/tasks")); !denied(o) {
			t.Errorf("%s: %+v", host, o)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// Once a first token exists, users of other machines may create tasks.
func TestLoopbackClosesForKeptConnectionsToo(t *testing.T) {
	var dials, requests atomic.Int32
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	plain, secure := httptest.NewUnstartedServer(handler), httptest.NewUnstartedServer(handler)
	for _, server := range []*httptest.Server{plain, secure} {
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				dials.Add(1)
			}
		}
		defer server.Close()
	}
	plain.Start()
	secure.StartTLS()
	for _, url := range []string{plain.URL, secure.URL} {
		var closed atomic.Bool
		s := newSender(t, Config{AllowLoopback: func() bool { return !closed.Load() }})
		trust(s, secure)
		dials.Store(0)
		requests.Store(0)
		for range 2 {
			if o := s.Deliver(t.Context(), delivery(t, url)); o.Verdict != task.Success {
				t.Fatalf("while it is open: %+v", o)
			}
		}
		if n := dials.Load(); n != 1 {
			t.Fatalf("%d connections: none was kept", n)
		}
		closed.Store(true)
		for range 2 { // the second one has to dial
			if o := s.Deliver(t.Context(), delivery(t, url)); !denied(o) {
				t.Errorf("when it is closed: %+v", o)
			}
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%d requests arrived", n)
		}
	}
}

func TestANameThatChangesToADeniedAddressIsDenied(t *testing.T) {
	var open, closed atomic.Int32
	port := serveAt(t, "127.0.0.1:0", &closed)
	serveAt(t, "127.0.0.2:"+port, &open)
	var turned atomic.Bool
	s := newSender(t, Config{Allow: prefixes("127.0.0.2/32")})
	s.dialer.Resolver = names(func(string) []netip.Addr {
		if turned.Load() {
			return addrs("127.0.0.1")
		}
		return addrs("127.0.0.2")
	}).resolver()

	url := "http://rebind.test:" + port + "/"
	if o := s.Deliver(t.Context(), delivery(t, url)); o.Verdict != task.Success {
		t.Fatalf("before the turn: %+v", o)
	}
	turned.Store(true)
	if o := s.Deliver(t.Context(), delivery(t, url)); !denied(o) {
		t.Errorf("after the turn: %+v", o)
	}
	if open.Load() != 1 || closed.Load() != 0 {
		t.Errorf("%d requests at the open address, %d at the closed one", open.Load(), closed.Load())
	}
}

func TestANameWithADeniedAndAnOpenAddressReachesTheOpenOneOnly(t *testing.T) {
	var open, closed atomic.Int32
	port := serveAt(t, "127.0.0.1:0", &closed)
	serveAt(t, "127.0.0.2:"+port, &open)
	s := newSender(t, Config{Allow: prefixes("127.0.0.2/32", "127.0.0.3/32")})
	for _, c := range []struct {
		answer  []netip.Addr
		verdict task.Verdict
	}{
		{addrs("127.0.0.1", "127.0.0.2"), task.Success},
		{addrs("127.0.0.2", "127.0.0.1"), task.Success},
		{addrs("127.0.0.1", "127.0.0.3"), task.Failure}, // the open one is down: it may come back
		{addrs("127.0.0.3", "127.0.0.1"), task.Failure},
		{addrs("127.0.0.1", "10.0.0.1"), task.Refusal},
	} {
		s.dialer.Resolver = names(func(string) []netip.Addr { return c.answer }).resolver()
		if o := s.Deliver(t.Context(), delivery(t, "http://both.test:"+port+"/")); o.Verdict != c.verdict {
			t.Errorf("%v: %+v", c.answer, o)
		}
	}
	if open.Load() != 2 || closed.Load() != 0 {
		t.Errorf("%d requests at the open address, %d at the closed one", open.Load(), closed.Load())
	}
}

func TestARedirectIsAFailureAndIsNotFollowed(t *testing.T) {
	var requests atomic.Int32
	inside := "http://127.0.0.1:" + serveAt(t, "127.0.0.1:0", &requests) + "/secret"
	for _, code := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", inside)
			w.WriteHeader(code)
		})
		o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, server.URL))
		if o.Verdict != task.Failure || o.Status != code || !strings.Contains(o.Error, "not followed") {
			t.Errorf("%d: %+v", code, o)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	var proxied, direct atomic.Int32
	proxy := "http://127.0.0.1:" + serveAt(t, "127.0.0.1:0", &proxied)
	// net/http reads the environment once, and in this process perhaps earlier.
	if !inChild(t, "HTTP_PROXY="+proxy, "http_proxy="+proxy, "ALL_PROXY="+proxy, "NO_PROXY=", "no_proxy=") {
		if n := proxied.Load(); n != 0 {
			t.Errorf("%d requests went by way of the proxy", n)
		}
		return
	}
	port := serveAt(t, "127.0.0.2:0", &direct)
	s := newSender(t, Config{AllowLoopback: always})
	s.dialer.Resolver = names(func(string) []netip.Addr { return addrs("127.0.0.2") }).resolver()
	// The URL has a name, because net/http never uses a proxy for 127.0.0.1.
	o := s.Deliver(t.Context(), delivery(t, "http://proxied.test:"+port+"/"))
	if o.Verdict != task.Success || direct.Load() != 1 {
		t.Errorf("got %+v, %d requests arrived", o, direct.Load())
	}
}
