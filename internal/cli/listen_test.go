package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/webhook"
)

// background is a command that does not end by itself. The pipes have its
// output. stop interrupts it, and code returns its exit code.
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
		outR.Close() // without a reader, writes fail instead of blocking
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
	quick.Leave(t, "waits for a retry")
	t.Parallel()
	l := start(t, "listen", "127.0.0.1:0", "--count", "2", "--status", "503")
	url := urlPattern.FindString(l.line(t, l.stderr))
	due := time.Now().Add(-1500 * time.Microsecond)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/hook?x=1", strings.NewReader("two\nlines \x1b[2J"))
	fatal.If(t, err)
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
	fatal.If(t, err)
	go send(plain)
	if got := l.line(t, l.stdout); !strings.HasSuffix(got, "  GET  /") {
		t.Errorf("listen printed %q for a request of somebody else", got)
	}
	if a, b := <-answered, <-answered; a != 503 || b != 503 {
		t.Errorf("it answered %d and %d, want 503", a, b)
	}
	if code := <-l.code; code != exit.OK {
		t.Errorf("after --count callbacks it ended with %d", code)
	}
	http.DefaultClient.CloseIdleConnections()
}

// printedCallback is a callback as listen -o json prints it.
type printedCallback struct {
	Method   string   `json:"method"`
	Path     string   `json:"path"`
	LateMS   *float64 `json:"late_ms"`
	Verified *bool    `json:"verified"`
	Refusal  string   `json:"refusal"`
	Body     string   `json:"body"`
}

func TestListenPrintsObjects(t *testing.T) {
	l := start(t, "listen", "127.0.0.1:0", "-o", "json")
	url := urlPattern.FindString(l.line(t, l.stderr))
	go func() {
		if resp, err := http.Post(url+"/hook", "text/plain", strings.NewReader("secret")); err == nil {
			resp.Body.Close()
		}
	}()
	var got printedCallback
	fatal.If(t, json.Unmarshal([]byte(l.line(t, l.stdout)), &got))
	if got.Method != "POST" || got.Path != "/hook" || got.Body != "secret" || got.LateMS != nil {
		t.Errorf("listen printed %+v", got)
	}
	http.DefaultClient.CloseIdleConnections()
	l.stop()
	if code := <-l.code; code != exit.OK {
		t.Errorf("interrupted, it ended with %d", code)
	}
}

func TestAPortInUseIsReported(t *testing.T) {
	l := start(t, "listen", "127.0.0.1:0")
	addr := strings.TrimPrefix(urlPattern.FindString(l.line(t, l.stderr)), "http://")
	var out, errs strings.Builder
	code := run(t.Context(), []string{"listen", addr}, strings.NewReader(""), &out, &errs)
	if code != exit.Failure || !strings.Contains(errs.String(), addr+" is in use by another process") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("it ended with %d and printed %q", code, errs.String())
	}
	l.stop()
	<-l.code
}

// callSigned sends a callback signed with secrets, after a call of edit, and
// returns the status of the reply.
func callSigned(t *testing.T, url, body string, edit func(http.Header), secrets ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	fatal.If(t, err)
	now := time.Now()
	req.Header.Set(webhook.HeaderID, "0198c0de")
	req.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	if len(secrets) > 0 {
		signature, err := webhook.Sign(secrets, "0198c0de", now, []byte(body))
		fatal.If(t, err)
		req.Header.Set(webhook.HeaderSignature, signature)
	}
	if edit != nil {
		edit(req.Header)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// secretOf returns a signing secret of size bytes, all of them n.
func secretOf(n byte, size int) string {
	return settings.SecretPrefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, size))
}

func TestListenVerifiesSignatures(t *testing.T) {
	older, newer, other := secretOf(1, 32), secretOf(2, 24), secretOf(3, 32)
	file := filepath.Join(t.TempDir(), "secrets")
	fatal.If(t, os.WriteFile(file, []byte(older+"\r\n\n  "+newer), 0o600))
	t.Setenv("FOLIOT_VERIFY_SECRET", older+","+newer)
	for _, args := range [][]string{
		{"--verify", older, "--verify", newer},
		{"--verify", "@" + file},
		{}, // from the environment
	} {
		l := start(t, append([]string{"listen", "127.0.0.1:0", "-o", "json"}, args...)...)
		url := urlPattern.FindString(l.line(t, l.stderr))
		late := func(h http.Header) { h.Set(webhook.HeaderTimestamp, "1700000000") }
		for _, c := range []struct {
			name    string
			body    string
			secrets []string
			edit    func(http.Header)
			status  int
			why     string
		}{
			{"the old secret", "hello", []string{older}, nil, 200, ""},
			{"both secrets", "hello", []string{newer, older}, nil, 200, ""},
			{"both secrets, and an empty body", "", []string{newer, older}, nil, 200, ""},
			{"the longest body", strings.Repeat("x", task.MaxBody), []string{newer}, nil, 200, ""},
			{"a body too long", strings.Repeat("x", task.MaxBody+1), []string{newer}, nil, 401, "longer than"},
			{"another secret", "hello", []string{other}, nil, 401, "no signature matches"},
			{"no signature", "hello", nil, nil, 401, "it has no signature"},
			{"a replay", "hello", []string{older}, late, 401, "old by this clock"},
		} {
			answer := make(chan int, 1)
			go func() { answer <- callSigned(t, url+"/hook", c.body, c.edit, c.secrets...) }()
			var got printedCallback
			fatal.If(t, json.Unmarshal([]byte(l.line(t, l.stdout)), &got))
			if status := <-answer; status != c.status {
				t.Errorf("%v, %s: answered %d", args, c.name, status)
			}
			if got.Verified == nil || *got.Verified != (c.status == 200) || !strings.Contains(got.Refusal, c.why) || (got.Refusal == "") != (c.why == "") {
				t.Errorf("%v, %s: it printed %q", args, c.name, got.Refusal)
			}
		}
		l.stop()
		<-l.code
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestListenPrintsTheResultOfTheVerification(t *testing.T) {
	secret := secretOf(1, 32)
	l := start(t, "listen", "127.0.0.1:0", "--count", "2", "--verify", secret)
	url := urlPattern.FindString(l.line(t, l.stderr))
	for _, c := range []struct {
		secrets []string
		want    string
	}{
		{[]string{secret}, "  POST  /hook  verified  hello"},
		{nil, "  POST  /hook  REFUSED: it has no signature: create a secret for its queue or namespace, with foliot secret create  hello"},
	} {
		answer := make(chan int, 1)
		go func() { answer <- callSigned(t, url+"/hook", "hello", nil, c.secrets...) }()
		if got := l.line(t, l.stdout); !strings.HasSuffix(got, c.want) {
			t.Errorf("listen printed %q", got)
		}
		<-answer
	}
	<-l.code
	http.DefaultClient.CloseIdleConnections()
}

func TestListenReportsAnInvalidSecretWithoutShowingIt(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	bad := filepath.Join(t.TempDir(), "bad")
	for name, text := range map[string]string{empty: "\n", bad: "hunter2"} {
		fatal.If(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for arg, want := range map[string]string{
		"hunter2":       "whsec_ followed by 24 to 64 bytes",
		"whsec_hunter2": "whsec_ followed by 24 to 64 bytes",
		"@" + empty:     empty + " contains no secret",
		"@" + bad:       bad,
		"@" + bad + "x": "no such file",
	} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{"listen", "127.0.0.1:0", "--verify", arg}, strings.NewReader(""), &out, &errs)
		if code != exit.Usage || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(), "hunter2") {
			t.Errorf("--verify %s: it ended with %d and printed %q", arg, code, errs.String())
		}
	}
}
