package webhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // what runs in parallel here waits for timeouts
	goleak.VerifyTestMain(m)
}

// childOf is the environment variable with the test for which a process was
// started.
const childOf = "FOLIOT_TEST_CHILD_OF"

// inChild reports whether this is a child process that runs only this test,
// with env in its environment. Otherwise it starts the child, fails the test if
// the child fails, and reports false.
func inChild(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(childOf) == t.Name() {
		return true
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(append(os.Environ(), env...), childOf+"="+t.Name())
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("in a process of its own: %v", err)
	}
	t.Logf("%s", out)
	return false
}

// always is a value for Config.AllowLoopback.
func always() bool { return true }

// newSender returns a Sender that may use loopback. The test closes it.
func newSender(t testing.TB, cfg Config) *Sender {
	if cfg.AllowLoopback == nil && len(cfg.Allow) == 0 {
		cfg.AllowLoopback = always
	}
	s := New(cfg)
	t.Cleanup(s.Close)
	return s
}

// trust lets s accept the certificate of a test server.
func trust(s *Sender, server *httptest.Server) {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	s.tls.RootCAs = pool
}

// delivery returns the first attempt of a task that calls url.
func delivery(t testing.TB, url string, edits ...func(*task.Spec)) task.Delivery {
	t.Helper()
	const due task.Millis = 1_795_204_800_250
	first := func(s *task.Spec) {
		s.ID, s.Request.URL, s.Timeout = "0198c0de-0000-7000-8000-000000000042", url, 10*time.Second
	}
	spec := tasktest.Spec("order-42-close", due, append([]func(*task.Spec){tasktest.Bodiless, first}, edits...)...)
	return task.Delivery{Task: tasktest.Made(spec, due), Number: 1}
}

// request returns the request that s sends at now.
func request(t testing.TB, s *Sender, d task.Delivery, now time.Time) *http.Request {
	t.Helper()
	x := &exchange{Delivery: d, ctx: t.Context(), trace: parentOf(d)}
	target, err := parseTarget(d.Task)
	fatal.If(t, err)
	lines, err := s.appendRequest(nil, x, target, now)
	fatal.If(t, err)
	r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(lines), bytes.NewReader(d.Task.Request.Body))))
	if err != nil {
		t.Fatalf("%v in the request:\n%s", err, lines)
	}
	return r
}

func body(kind task.BodyKind, text string) func(*task.Spec) {
	return func(s *task.Spec) {
		s.Request.BodyKind, s.Request.Body, s.Request.BodySize = kind, []byte(text), len(text)
	}
}

func method(m string) func(*task.Spec) { return func(s *task.Spec) { s.Request.Method = m } }

func timeout(d time.Duration) func(*task.Spec) { return func(s *task.Spec) { s.Timeout = d } }

func header(name, value string) func(*task.Spec) {
	return func(s *task.Spec) {
		if s.Request.Headers == nil {
			s.Request.Headers = map[string]string{}
		}
		s.Request.Headers[name] = value
	}
}

// serve runs an HTTP server for the test.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// rawServer passes each connection to handle, with its number from 1 on, and
// returns the URL. When the test ends, it closes connections and waits for
// handlers.
func rawServer(t testing.TB, handle func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards conns
		conns []net.Conn
	)
	wg.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() { defer c.Close(); handle(n, c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// names returns the IPv4 addresses of a name. No addresses means that there is
// no such name.
type names func(name string) []netip.Addr

// resolver returns a resolver that calls names, over a pipe. The goroutine of
// the pipe ends when the resolver closes its side, perhaps after the test;
// goleak waits.
func (answer names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe() // not a PacketConn, so the resolver uses DNS over TCP
		go func() { defer ours.Close(); answer.serve(ours) }()
		return theirs, nil
	}}
}

func (answer names) serve(c net.Conn) {
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := answer.reply(query)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func (answer names) reply(query []byte) []byte {
	name, end := "", 12
	for query[end] != 0 {
		size := int(query[end])
		name += string(query[end+1:end+1+size]) + "."
		end += 1 + size
	}
	end += 5 // the root's zero, type and class
	const typeA = 1
	var addrs []netip.Addr
	if asked := binary.BigEndian.Uint16(query[end-4:]); asked == typeA {
		addrs = answer(name)
	}
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0}, query[12:end]...)
	for _, a := range addrs {
		reply = append(reply, 0xC0, 12, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, a.AsSlice()...)
	}
	return reply
}

// traceparent returns the traceparent of an attempt of a task without a trace.
func traceparent(id string, number int) string {
	return parentOf(task.Delivery{Task: &task.Task{ID: id}, Number: number})
}
