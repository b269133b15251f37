package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// background runs a command that does not end by itself. Its output is read
// from the pipes; stop interrupts it, and code returns its exit code.
type background struct {
	stdout, stderr *bufio.Reader
	stop           context.CancelFunc
	code           chan int
}

func start(t *testing.T, args ...string) *background {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	b := &background{stdout: bufio.NewReader(outR), stderr: bufio.NewReader(errR), stop: cancel, code: make(chan int, 1)}
	go func() {
		b.code <- run(ctx, args, strings.NewReader(""), outW, errW)
		outW.Close()
		errW.Close()
	}()
	t.Cleanup(func() {
		cancel()
		outR.Close() // nobody reads any more: writes fail, and nothing hangs
		errR.Close()
	})
	return b
}

func (b *background) line(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	s, err := from.ReadString('\n')
	if err != nil {
		t.Fatalf("the command ended, after %q: %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

var urlPattern = regexp.MustCompile(`http://[0-9.]+:\d+`)

func TestListenPrintsWhatItReceives(t *testing.T) {
	l := start(t, "listen", "127.0.0.1:0", "--count", "2", "--status", "503")
	url := urlPattern.FindString(l.line(t, l.stderr))
	due := time.Now().Add(-1500 * time.Microsecond)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/hook?x=1", strings.NewReader("two\nlines \x1b[2J"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Foliot-Task", "order-1")
	req.Header.Set("Foliot-Attempt", "3")
	req.Header.Set("Foliot-Due-At", wire.FormatTime(due))
	answered := make(chan int, 2)
	send := func(req *http.Request) {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- 0
			return
		}
		resp.Body.Close()
		answered <- resp.StatusCode
	}
	go send(req)
	want := regexp.MustCompile(`^\S+Z  POST  /hook\?x=1  order-1 attempt 3  \+\d+\.\d ms  two\\nlines \\x1b\[2J$`)
	if got := l.line(t, l.stdout); !want.MatchString(got) {
		t.Errorf("listen printed %q", got)
	}
	plain, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	go send(plain)
	if got := l.line(t, l.stdout); !strings.HasSuffix(got, "  GET  /") {
		t.Errorf("listen printed %q for a request of somebody else", got)
	}
	if a, b := <-answered, <-answered; a != 503 || b != 503 {
		t.Errorf("it answered %d and %d, want 503", a, b)
	}
	if code := <-l.code; code != exitOK {
		t.Errorf("after --count callbacks it ended with %d", code)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestListenPrintsObjects(t *testing.T) {
	l := start(t, "listen", "127.0.0.1:0", "-o", "json", "--quiet")
	url := urlPattern.FindString(l.line(t, l.stderr))
	go func() {
		if resp, err := http.Post(url+"/hook", "text/plain", strings.NewReader("secret")); err == nil {
			resp.Body.Close()
		}
	}()
	var got callback
	if err := json.Unmarshal([]byte(l.line(t, l.stdout)), &got); err != nil {
		t.Fatal(err)
	}
	if got.Method != "POST" || got.Path != "/hook" || got.Body != "" || got.LateMS != nil {
		t.Errorf("listen printed %+v", got)
	}
	http.DefaultClient.CloseIdleConnections()
	l.stop()
	if code := <-l.code; code != exitOK {
		t.Errorf("interrupted, it ended with %d", code)
	}
}

func TestAPortInUseIsSaidClearly(t *testing.T) {
	l := start(t, "listen", "127.0.0.1:0")
	addr := strings.TrimPrefix(urlPattern.FindString(l.line(t, l.stderr)), "http://")
	var out, errs strings.Builder
	code := run(t.Context(), []string{"listen", addr}, strings.NewReader(""), &out, &errs)
	if code != exitFailure || !strings.Contains(errs.String(), addr+" is in use by another process") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("it ended with %d and said %q", code, errs.String())
	}
	l.stop()
	<-l.code
}
