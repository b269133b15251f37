package webhook

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

// seen is a request as the receiver saw it.
type seen struct {
	*http.Request
	body string
}

// receiver replies 204 and records the requests.
func receiver(t testing.TB) (url string, requests chan seen) {
	requests = make(chan seen, 16)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		requests <- seen{r, string(b)}
		w.WriteHeader(http.StatusNoContent)
	})
	return server.URL, requests
}

func TestAnAttemptCarriesTheTasksNameAndTime(t *testing.T) {
	url, requests := receiver(t)
	d := delivery(t, url+"/orders/42/close?x=1", body(task.JSONBody, `{"order":42}`), header("x-shop", "7"),
		func(s *task.Spec) { s.Queue, s.Retry.MaxAttempts = "shop", 5 })
	d.Number = 3
	before := time.Now()
	o := newSender(t, Config{}).Deliver(t.Context(), d)
	if o.Verdict != task.Success || o.Status != 204 || o.Error != "" {
		t.Fatalf("got %+v", o)
	}
	if at := o.StartedAt.Time(); at.Before(before.Add(-time.Millisecond)) || at.After(time.Now()) || o.Latency <= 0 {
		t.Errorf("started at %v, took %v", at, o.Latency)
	}
	r := <-requests
	got := map[string]string{"": r.Method + " " + r.RequestURI + " " + r.body}
	for name, values := range r.Header {
		got[name] = strings.Join(values, "|")
	}
	stamp := got["Webhook-Timestamp"]
	if first, last := fmt.Sprint(before.Unix()), fmt.Sprint(time.Now().Unix()); stamp < first || stamp > last {
		t.Errorf("webhook-timestamp %s lies outside %s–%s", stamp, first, last)
	}
	if !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(got["Traceparent"]) {
		t.Errorf("traceparent is %q", got["Traceparent"])
	}
	delete(got, "Webhook-Timestamp")
	delete(got, "Traceparent")
	want := map[string]string{
		"":                    `POST /orders/42/close?x=1 {"order":42}`,
		"Content-Type":        "application/json",
		"Content-Length":      "12",
		"User-Agent":          userAgent,
		"X-Shop":              "7",
		"Webhook-Id":          d.Task.ID,
		"Foliot-Task":         "order-42-close",
		"Foliot-Queue":        "shop",
		"Foliot-Due-At":       "2026-11-20T20:00:00.250Z",
		"Foliot-Attempt":      "3",
		"Foliot-Max-Attempts": "5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the receiver saw (-want +got):\n%s", diff)
	}
}

// A task of a schedule names the schedule and its instant. The due time may be
// later than the instant.
func TestAReceiverSeesWhichScheduleCalls(t *testing.T) {
	for name, want := range map[string]string{
		"nightly@1795294800250": "nightly 2026-11-21T21:00:00.250Z", "nightly@1795294800000.b0123abcd": "nightly 2026-11-21T21:00:00.000Z",
		"nightly@1795294800250.t0123456789abcdef": "nightly ", "nightly": " ",
		"nightly@dead.0123.8": " ", "nightly@1795294800250@dead.0123.8": " ", "nightly@1795294800250.b0123abcd@dead.0123.8": " ",
	} {
		d := delivery(t, "http://example.com/")
		d.Task.Name = name
		h := request(t, newSender(t, Config{}), d, time.Now()).Header
		if got := h.Get("Foliot-Schedule") + " " + h.Get("Foliot-Instant"); got != want || h.Get("Foliot-Task") != name {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTheSentDueTimeIsTheOneThatTheClientGave(t *testing.T) {
	d := delivery(t, "http://127.0.0.1/")
	d.Task.Due += 60_000 // the due time of a retry
	h := request(t, newSender(t, Config{}), d, time.Now()).Header
	if got := h.Get("Foliot-Due-At"); got != "2026-11-20T20:00:00.250Z" {
		t.Errorf("got %s", got)
	}
}

func TestAllAttemptsOfATaskShareATrace(t *testing.T) {
	first, second, other := traceparent("a", 1), traceparent("a", 2), traceparent("b", 1)
	if first[:35] != second[:35] || first == second || first[:35] == other[:35] {
		t.Errorf("got %s, %s and %s", first, second, other)
	}
}

func TestATaskMaySetItsOwnHeadersButNotOurs(t *testing.T) {
	url, requests := receiver(t)
	d := delivery(t, url, body(task.JSONBody, "1"), header("content-type", "application/cbor"), header("User-Agent", "shop"),
		header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"))
	// A record may be older than the list of forbidden headers, so validation
	// saw none of these.
	for name, value := range map[string]string{
		"Host": "evil.test", "TE": "trailers", "Content-Length": "7", "Connection": "close", "Transfer-Encoding": "chunked",
		"Expect": "100-continue", "Upgrade": "h2c", "Trailer": "X-T", "Keep-Alive": "9", "Proxy-Authorization": "x",
		"foliot-task": "another", "FOLIOT-ELSE": "x", "webhook-id": "forged", "Webhook-Signature": "v1,forged",
	} {
		d.Task.Request.Headers[name] = value
	}
	if o := newSender(t, Config{}).Deliver(t.Context(), d); o.Verdict != task.Success {
		t.Fatalf("got %+v", o)
	}
	r := <-requests
	for name, want := range map[string]string{
		"Content-Type": "application/cbor", "User-Agent": "shop",
		"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"Foliot-Task": "order-42-close", "Webhook-Id": d.Task.ID, "Content-Length": "1",
		"Te": "", "Connection": "", "Expect": "", "Upgrade": "", "Trailer": "", "Keep-Alive": "",
		"Proxy-Authorization": "", "Foliot-Else": "", "Webhook-Signature": "", "Accept-Encoding": "",
	} {
		if got := strings.Join(r.Header.Values(name), "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Host == "evil.test" || len(r.TransferEncoding) > 0 {
		t.Errorf("host %q, transfer encoding %v", r.Host, r.TransferEncoding)
	}
}

func TestABodyArrivesAsItWasGiven(t *testing.T) {
	url, requests := receiver(t)
	s := newSender(t, Config{})
	big := strings.Repeat("x", task.MaxBody)
	for _, c := range []struct {
		method, body string
		kind         task.BodyKind
		contentType  string
		length       int64
	}{
		{"POST", "", task.NoBody, "", 0},
		{"PUT", "", task.NoBody, "", 0},
		{"GET", "", task.NoBody, "", 0},
		{"DELETE", "", task.NoBody, "", 0},
		{"POST", `{"n": 12345678901234567890, "n":1.0}`, task.JSONBody, "application/json", 36},
		{"POST", "grüße", task.TextBody, "text/plain; charset=utf-8", 7},
		{"PATCH", "\x00\xff\r\n", task.BinaryBody, "application/octet-stream", 4},
		{"GET", "q", task.TextBody, "text/plain; charset=utf-8", 1},
		{"DELETE", "q", task.TextBody, "text/plain; charset=utf-8", 1},
		{"POST", big, task.BinaryBody, "application/octet-stream", task.MaxBody},
	} {
		if o := s.Deliver(t.Context(), delivery(t, url, method(c.method), body(c.kind, c.body))); o.Verdict != task.Success {
			t.Fatalf("%s %.20q: %+v", c.method, c.body, o)
		}
		r := <-requests
		if r.Method != c.method || r.body != c.body || r.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%s %.20q arrived as %s %.20q %s", c.method, c.body, r.Method, r.body, r.Header.Get("Content-Type"))
		}
		if r.ContentLength != c.length || len(r.TransferEncoding) > 0 {
			t.Errorf("%s %.20q: length %d, transfer encoding %v", c.method, c.body, r.ContentLength, r.TransferEncoding)
		}
	}
}

func TestABodyThatWasNotLoadedIsNotSentAsEmpty(t *testing.T) {
	url, requests := receiver(t)
	d := delivery(t, url, body(task.TextBody, "hello"))
	d.Task = d.Task.WithoutBody()
	o := newSender(t, Config{}).Deliver(t.Context(), d)
	if o.Verdict != task.Failure || !strings.Contains(o.Error, "0 bytes of the body") || len(requests) > 0 {
		t.Errorf("got %+v, %d requests", o, len(requests))
	}
}

// A request that is written while the receiver closes the connection fails,
// although the receiver may have processed the request.
func TestAConnectionIsUsedNoLongerThanTheReceiverKeepsIt(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": idleTimeout, "timeout=1": 0, "timeout=0": 0, "timeout=3, max=100": 2 * time.Second, "max=5,Timeout = 2": time.Second,
		"timeout=75": idleTimeout, "timeout=99999999999999999999": idleTimeout, `timeout="2"`: time.Second, "timeout=-1": idleTimeout, "timeout": idleTimeout,
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Keep-Alive", value) })
		s := newSender(t, Config{})
		if o := s.Deliver(t.Context(), delivery(t, server.URL)); o.Verdict != task.Success {
			t.Fatalf("got %+v", o)
		}
		var c *conn
		for _, kept := range s.pool.idle {
			c = kept[0]
		}
		switch {
		case c == nil && want > 0, c != nil && (want <= 0 || c.keep != want):
			t.Errorf("%q: the connection is kept: %v, want %v", value, c != nil, want)
		case c != nil:
			for idle, old := range map[time.Duration]bool{want - 100*time.Millisecond: false, want: true} {
				if c.idleSince = time.Now().Add(-idle); c.old() != old {
					t.Errorf("%q: after %v it is old: %v", value, idle, !old)
				}
			}
		}
	}
}

func TestConcurrentAttemptsDoNotAffectEachOther(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Foliot-Attempt"))
	})
	s := newSender(t, Config{})
	var wg sync.WaitGroup
	for n := range 300 {
		wg.Go(func() {
			d := delivery(t, server.URL)
			d.Number = n
			if o := s.Deliver(t.Context(), d); o.Verdict != task.Success || o.Reply != fmt.Sprint(n) {
				t.Errorf("attempt %d: %+v", n, o)
			}
		})
	}
	wg.Wait()
}

func TestALostLeaseSendsNothing(t *testing.T) {
	var requests atomic.Int32
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	gone := errors.New("another node took it")
	for _, url := range []string{plain.URL, secure.URL} {
		for _, c := range []struct {
			connection string
			kept       bool
		}{{"fresh", false}, {"kept", true}} {
			t.Run(url[:5]+" "+c.connection, func(t *testing.T) {
				s := newSender(t, Config{})
				trust(s, secure)
				requests.Store(0)
				sent := int32(0)
				if c.kept {
					s.Deliver(t.Context(), delivery(t, url))
					sent++
				}
				d := delivery(t, url)
				asked := 0
				d.Live = func() error { asked++; return gone }
				o := s.Deliver(t.Context(), d)
				if o.Verdict != task.Unsent || !strings.Contains(o.Error, gone.Error()) {
					t.Errorf("got %+v", o)
				}
				if asked != 1 || requests.Load() != sent {
					t.Errorf("asked %d times, %d requests arrived instead of %d", asked, requests.Load(), sent)
				}
				if o = s.Deliver(t.Context(), delivery(t, url)); o.Verdict != task.Success {
					t.Errorf("the next attempt: %+v", o)
				}
			})
		}
	}
}

func TestTheLeaseIsCheckedAfterTheConnectAndBeforeTheWrite(t *testing.T) {
	accepted, finish := make(chan struct{}), make(chan struct{})
	got := make(chan int, 1)
	url := rawServer(t, func(_ int, c net.Conn) {
		close(accepted)
		<-finish
		n, _ := io.Copy(io.Discard, c)
		got <- int(n)
	})
	s := newSender(t, Config{})
	d := delivery(t, url)
	d.Live = func() error { <-accepted; return errors.New("lost") }
	o := s.Deliver(t.Context(), d)
	close(finish)
	if n := <-got; n != 0 || o.Verdict != task.Unsent {
		t.Errorf("%d bytes were written, outcome %+v", n, o)
	}
}

func TestStoppingBeforeTheRequestLeavesTheTaskUnsent(t *testing.T) {
	url, requests := receiver(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := newSender(t, Config{})
	d := delivery(t, url)
	d.Live = func() error { cancel(); return nil } // the last moment
	for _, when := range []string{"at the last moment", "long before"} {
		if o := s.Deliver(ctx, d); o.Verdict != task.Unsent || len(requests) != 0 {
			t.Errorf("stopped %s: %+v, %d requests", when, o, len(requests))
		}
	}
}

func TestStoppingAnAttemptUnderWayInterruptsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if o := newSender(t, Config{}).Deliver(ctx, delivery(t, server.URL)); o.Verdict != task.Interrupted || o.Error == "" {
		t.Errorf("got %+v", o)
	}
}

func TestCloseEndsDialsUnderWay(t *testing.T) {
	s := newSender(t, Config{})
	asked, done := make(chan struct{}), make(chan task.Outcome, 1)
	s.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	go func() { done <- s.Deliver(context.Background(), delivery(t, "http://slow.test/")) }()
	<-asked
	s.Close()
	if o := <-done; o.Verdict != task.Failure {
		t.Errorf("got %+v", o)
	}
}

func TestTheTimeToConnectIsNotTheLatenessOfTheSender(t *testing.T) {
	var arrived time.Time
	server := serve(t, func(http.ResponseWriter, *http.Request) { arrived = time.Now() })
	d, began := delivery(t, server.URL), time.Now()
	d.Waited = 10 * time.Millisecond
	d.Task.Due = task.FloorMillis(time.Now()) - 40
	var ready time.Time
	d.Live = func() error {
		if ready.IsZero() { // later reads are part of the request
			ready = time.Now()
		}
		return nil
	}
	o := newSender(t, Config{}).Deliver(t.Context(), d)
	all := o.Late + o.Waited
	if written := d.Task.Due.Time().Add(all); written.Before(ready.Round(0)) || written.After(arrived.Round(0)) {
		t.Errorf("late by %v: written at %v, not between %v (connected) and %v (arrived)", all, written, ready, arrived)
	}
	if connecting := o.Waited - d.Waited; connecting <= 0 || connecting > arrived.Sub(began) {
		t.Errorf("connected in %v, and the request arrived after %v", connecting, arrived.Sub(began))
	}
	if cut := o.StartedAt.Sub(d.Task.Due); all < cut || all >= cut+time.Millisecond {
		t.Errorf("late by %v, but %v by the start in milliseconds", all, cut)
	}
}

func TestLatenessIsByTheConfiguredClockAndDurationByTheMonotonicOne(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	d := delivery(t, server.URL)
	d.Task.Due = task.FloorMillis(time.Now().Add(time.Hour))
	o := newSender(t, Config{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}).Deliver(t.Context(), d)
	if o.Late < time.Hour || o.Late > time.Hour+time.Minute || o.StartedAt.Sub(d.Task.Due) < time.Hour || o.Latency > time.Minute {
		t.Errorf("late by %v, begun at %v, took %v", o.Late, o.StartedAt.Time(), o.Latency)
	}
}

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

const (
	theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	ours   = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
)

func TestAnAttemptCarriesTheTraceItBelongsTo(t *testing.T) {
	traced := func(ctx context.Context, _ task.Delivery) (context.Context, string, func(task.Outcome)) {
		return ctx, ours, func(task.Outcome) {}
	}
	silent := func(ctx context.Context, _ task.Delivery) (context.Context, string, func(task.Outcome)) {
		return ctx, "", func(task.Outcome) {}
	}
	for _, c := range []struct {
		name   string
		config Config
		edit   func(*task.Spec)
		want   string
	}{
		{"no tracer", Config{}, func(*task.Spec) {}, traceparent("0198c0de-0000-7000-8000-000000000042", 1)},
		{"the creator traces", Config{}, func(s *task.Spec) { s.Trace = theirs }, theirs},
		{"we trace", Config{Trace: traced}, func(s *task.Spec) { s.Trace = theirs }, ours},
		{"we trace, but not this one", Config{Trace: silent}, func(s *task.Spec) { s.Trace = theirs }, theirs},
		{"the task sets the header", Config{Trace: traced}, header("TraceParent", theirs), theirs},
	} {
		url, requests := receiver(t)
		newSender(t, c.config).Deliver(t.Context(), delivery(t, url, c.edit))
		if got := (<-requests).Header.Values("Traceparent"); !cmp.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestATraceSeesTheContextAndTheOutcomeOnce(t *testing.T) {
	url, _ := receiver(t)
	stop := errors.New("stop")
	var ended []task.Outcome
	d := delivery(t, url)
	s := newSender(t, Config{Trace: func(ctx context.Context, seen task.Delivery) (context.Context, string, func(task.Outcome)) {
		if seen.Task != d.Task || seen.Number != 1 {
			t.Errorf("traced %+v", seen)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		if seen.Task.Queue == "stopped" {
			cancel(stop)
		}
		return ctx, "", func(o task.Outcome) { ended = append(ended, o); cancel(nil) }
	}})
	sent := s.Deliver(t.Context(), d)
	d.Task.Queue = "stopped"
	unsent := s.Deliver(t.Context(), d)
	if sent.Verdict != task.Success || unsent.Verdict != task.Unsent {
		t.Errorf("verdicts %v and, under an ended context, %v", sent.Verdict, unsent.Verdict)
	}
	if diff := cmp.Diff([]task.Outcome{sent, unsent}, ended); diff != "" {
		t.Errorf("the trace saw (-want +got):\n%s", diff)
	}
}
