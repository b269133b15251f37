package receiver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/verify"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	aSecret       = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	anotherSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// signedHeader returns the headers of a callback that a secret has signed.
func signedHeader(t *testing.T, secret, id string, body []byte) http.Header {
	t.Helper()
	w, err := webhooks.NewWebhook(secret)
	fatal.If(t, err)
	now := time.Now()
	signature, err := w.Sign(id, now, body)
	fatal.If(t, err)
	h := http.Header{}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()))
	h.Set("Webhook-Signature", signature)
	return h
}

// deliver sends a callback as the server does.
func deliver(t *testing.T, client *http.Client, url, name string, h http.Header, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	fatal.If(t, err)
	req.Header = h.Clone()
	req.Header.Set("Foliot-Task", name)
	resp, err := client.Do(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func TestAFastReceiverLogsEveryCallbackAndVerifiesSome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deliveries")
	s, err := openFastServer(path, "127.0.0.1:0")
	fatal.If(t, err)
	fatal.If(t, s.know([]string{aSecret}))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	url := "http://" + s.listener.Addr().String() + "/"
	body := `{"order":42}`
	began := time.Now()
	for i := range 3 * sample {
		h := signedHeader(t, aSecret, "id", []byte(body))
		if i == 2*sample-1 {
			h = signedHeader(t, anotherSecret, "id", []byte(body))
		}
		if status := deliver(t, client, url, fmt.Sprintf("a-%d", i), h, body); status != http.StatusOK {
			t.Fatalf("the receiver answered %d", status)
		}
	}
	if got, want := s.seen(), (Counts{Arrived: 3 * sample, Signed: 3 * sample, Verified: 2, Rejected: 1}); got != want {
		t.Errorf("it counts %+v, want %+v", got, want)
	}
	fatal.If(t, s.close())
	n := 0
	for l, err := range ReadDeliveries(path) {
		fatal.If(t, err)
		at := time.Unix(0, l.At)
		if string(l.Name) != fmt.Sprintf("a-%d", n) || string(l.ID) != "id" || at.Before(began) || at.After(time.Now()) {
			t.Errorf("line %d is %s %s at %v", n, l.Name, l.ID, at)
		}
		n++
	}
	if n != 3*sample {
		t.Errorf("the log has %d lines, want %d", n, 3*sample)
	}
}

func TestAFastReceiverRefusesInvalidRequests(t *testing.T) {
	s, err := openFastServer(filepath.Join(t.TempDir(), "deliveries"), "127.0.0.1:0")
	fatal.If(t, err)
	defer func() { _ = s.close() }()
	for _, request := range []string{
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
		"POST / HTTP/1.1\r\nX: " + strings.Repeat("x", 32<<10) + "\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", s.listener.Addr().String())
		fatal.If(t, err)
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		reply, _ := io.ReadAll(conn) // the receiver may close before it has read all: a reset is as good
		if len(reply) > 0 && !strings.HasPrefix(string(reply), "HTTP/1.1 400 ") {
			t.Errorf("%.60q… was answered with %q", request, reply)
		}
	}
	if got := s.seen(); got != (Counts{}) {
		t.Errorf("it counts %+v", got)
	}
}

func TestAFastReceiverTakesOrdersUntilItIsClosed(t *testing.T) {
	start := time.Now()
	p, err := StartFast(filepath.Join(t.TempDir(), "deliveries"), "127.0.0.1:0")
	fatal.If(t, err)
	defer p.End()
	if _, err := p.Know(aSecret); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for i := range sample {
		deliver(t, client, p.URL(), fmt.Sprintf("a-%d", i), signedHeader(t, aSecret, "id", nil), "")
	}
	if got, err := p.Counts(); err != nil || got != (Counts{Arrived: sample, Signed: sample, Verified: 1}) {
		t.Errorf("it counts %+v, %v", got, err)
	}
	if used, err := system.CPUOf(p.Cmd.Process.Pid); err != nil || used < 0 {
		t.Errorf("its processor time is %v, %v", used, err)
	}
	if now, peak, err := system.MemoryOf(p.Cmd.Process.Pid); err != nil || now <= 0 || peak < now {
		t.Errorf("its memory is %d, %d at its peak, %v", now, peak, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	n := verify.Numbered{Prefix: "a", Count: sample, Due: func(int) time.Time { return start }}
	if v, err := n.Check(ReadDeliveries(p.Path)); err != nil || v.Lost.Count != 0 {
		t.Errorf("after its end the log tells %+v, %v", v, err)
	}
}

func TestWrongSignaturesAreNoRightOnes(t *testing.T) {
	whole := Counts{Arrived: 1600, Signed: 1600, Verified: 100}
	for name, change := range map[string]func(*Counts){
		"one was not signed":             func(c *Counts) { c.Signed-- },
		"one was signed by another one":  func(c *Counts) { c.Rejected++ },
		"hardly any was verified at all": func(c *Counts) { c.Verified = 10 },
		"nothing came":                   func(c *Counts) { *c = Counts{} },
	} {
		c := whole
		change(&c)
		if c.RightlySigned() {
			t.Errorf("%s, and all is well: %+v", name, c)
		}
	}
	if !whole.RightlySigned() {
		t.Errorf("nothing is wrong with %+v", whole)
	}
}
