package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store/memstore"
)

func TestAnExportThatIsImportedAgainIsTheSame(t *testing.T) {
	from, to := newSession(t), newSession(t)
	file := filepath.Join(from.dir, "tasks.ndjson")
	var lines strings.Builder
	for i := range 2500 { // more than two pages and more than two batches
		fmt.Fprintf(&lines, `{"name":"t-%d","delay":"%dh","http":{"url":"http://127.0.0.1:9/%d","headers":{"X-N":"%d"},"body":{"n":%d}},"labels":{"n":"%d"}}`+"\n", i, i+1, i, i, i, i)
	}
	lines.WriteString(`{"name":"text","at":"2030-01-01T00:00:00.001Z","http":{"url":"http://127.0.0.1:9/","method":"PUT","body":"text \u00e9\n"}}` + "\n")
	lines.WriteString(`{"name":"bytes","at":"2030-01-01T00:00:00Z","http":{"url":"http://127.0.0.1:9/","body_base64":"AP8="},"retry":{"max_attempts":3,"max_age":"2h"},"timeout":"1s","expire_after":"5m","priority":"low","queue":"q"}` + "\n")
	lines.WriteString(`{"name":"none","at":"2030-01-01T00:00:00Z","http":{"url":"http://127.0.0.1:9/"}}` + "\n")
	if out, errs, code := from.run(lines.String(), "import", "-"); code != exit.OK || !strings.HasPrefix(out, "created 2503,") {
		t.Fatalf("import ended with %d: %s%s", code, out, errs)
	}
	wants(t, exit.OK)(from.run("", "export", file))
	first, err := os.ReadFile(file)
	fatal.If(t, err)
	if out, errs, code := to.run("", "import", file); code != exit.OK || !strings.HasPrefix(out, "created 2503,") {
		t.Fatalf("the second import ended with %d: %s%s", code, out, errs)
	}
	second, _, code := to.run("", "export")
	if code != exit.OK {
		t.Fatalf("the second export ended with %d", code)
	}
	if !bytes.Equal(first, []byte(second)) {
		t.Error("the tasks are not the same after export, import and export")
	}
	shows(t, second, `"body":"text é\n"`, `"body_base64":"AP8="`, `"at":"2030-01-01T00:00:00.001Z"`, `"expire_after":"5m"`, `"priority":"low"`)
}

func TestAnImportedTaskTakesNoDefaultsFromItsNewQueue(t *testing.T) {
	from, to := newSession(t), newSession(t)
	file := filepath.Join(from.dir, "tasks.ndjson")
	for _, c := range []struct {
		s    *session
		line string
	}{
		{from, "add http://127.0.0.1:9/ --in 1h --name plain"},
		{from, "export " + file},
		{to, "queue set default --expire-after 1m --on-dead https://a.example/ --max-attempts 1 --timeout 1s"},
		{to, "import " + file},
	} {
		wants(t, exit.OK)(c.s.run("", strings.Fields(c.line)...))
	}
	before, _, _ := from.run("", "get", "plain")
	after, _, _ := to.run("", "get", "plain")
	if want := "timeout\t15s\nretry\tany number of attempts"; !strings.Contains(after, want) || !strings.Contains(before, want) || strings.Contains(after, "expire") || strings.Contains(after, "on dead") {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestAFailedExportLeavesTheOldFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.ndjson")
	fatal.If(t, os.WriteFile(file, []byte("old"), 0o600))
	s := newSession(t)
	s.server = "http://127.0.0.1:1"
	wants(t, exit.Unreachable)(s.run("", "export", file))
	entries, err := os.ReadDir(filepath.Dir(file))
	fatal.If(t, err)
	if old, err := os.ReadFile(file); err != nil || string(old) != "old" || len(entries) != 1 {
		t.Errorf("the directory holds %v, the file %q, %v", entries, old, err)
	}
}

// If the server stops answering, the import ends and reports its progress. The
// same command continues it later.
func TestAnInterruptedImportCanBeRepeated(t *testing.T) {
	store := memstore.New(memstore.Config{})
	inner := api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store)
	var requests atomic.Int64 // counted by the handler, which several senders call
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 3 {
			panic(http.ErrAbortHandler)
		}
		inner.ServeHTTP(w, r)
	}))
	defer srv.Close()
	s := &session{t: t, server: srv.URL}
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, `{"name":"t-%d","delay":"1h","http":{"url":"http://127.0.0.1:9/"}}`+"\n", i)
	}
	out, errs, code := s.run(lines.String(), "import", "-", "--batch", "10", "--parallel", "1")
	if code != exit.Unreachable || !strings.HasPrefix(out, "created 30,") || !strings.Contains(errs, "repeat the command") {
		t.Fatalf("the import ended with %d: %s%s", code, out, errs)
	}
	srv.Close() // waits for abandoned requests that still run
	healed := httptest.NewServer(inner)
	defer healed.Close()
	s.server = healed.URL
	out, errs, code = s.run(lines.String(), "import", "-", "--batch", "10")
	if code != exit.OK || !strings.HasPrefix(out, "created 70, skipped 30 existing, refused 0") {
		t.Errorf("the second import ended with %d: %s%s", code, out, errs)
	}
}

func TestAnImportStopsWhenTheServerItselfFails(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[{"status":201,"name":"a"},{"status":507,"code":"store_full","detail":"the store is full"}]}`)
	}))
	defer srv.Close()
	s := &session{t: t, server: srv.URL}
	out, errs, code := s.run(strings.Repeat("{}\n", 20), "import", "-", "--batch", "2", "--parallel", "1")
	if code != exit.Failure || !strings.HasPrefix(out, "created 1, skipped 0 existing, refused 0,") || !strings.Contains(errs, "line 2: the store is full") {
		t.Errorf("the import ended with %d: %s%s", code, out, errs)
	}
}

// Tasks above the create rate of the namespace are created later.
func TestAnImportWaitsForTheNamespacesRate(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	if _, err := admin.New(s.api(t)).Namespaces.Put(t.Context(), "default", admin.NamespaceSettings{CreateRate: 60}); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 100 {
		fmt.Fprintf(&lines, `{"name":"t-%d","delay":"1h","http":{"url":"http://127.0.0.1:9/"}}`+"\n", i)
	}
	if out, errs, code := s.run(lines.String(), "import", "-"); code != exit.OK || !strings.HasPrefix(out, "created 100, skipped 0 existing, refused 0,") {
		t.Errorf("the import ended with %d: %s%s", code, out, errs)
	}
	if _, err := admin.New(s.api(t)).Namespaces.Put(t.Context(), "default", admin.NamespaceSettings{MaxPending: 101}); err != nil {
		t.Fatal(err)
	}
	out, errs, code := s.run(strings.ReplaceAll(lines.String(), "t-", "u-"), "import", "-")
	if code != exit.Failure || !strings.HasPrefix(out, "created 1, skipped 0 existing, refused 0,") || !strings.Contains(errs, "repeat the command") {
		t.Errorf("a namespace that is full: %d: %s%s", code, out, errs)
	}
}

// api returns a client for the server of the session.
func (s *session) api(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(s.server, client.Options{})
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c
}

// If a line makes the server refuse the whole request, only that line is
// refused.
func TestALineThatInvalidatesItsBatchIsFound(t *testing.T) {
	s := newSession(t)
	deep := strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000)
	var lines strings.Builder
	for i := range 20 {
		labels := `{"n":"1"}`
		if i == 7 {
			labels = deep
		}
		fmt.Fprintf(&lines, `{"name":"t-%d","delay":"1h","http":{"url":"http://127.0.0.1:9/"},"labels":%s}`+"\n", i, labels)
	}
	out, errs, code := s.run(lines.String(), "import", "-")
	if code != exit.Failure || !strings.HasPrefix(out, "created 19, skipped 0 existing, refused 1,") {
		t.Errorf("the import ended with %d: %s", code, out)
	}
	if !strings.HasPrefix(errs, "line 8: ") || len(errs) > 2*wording.MaxShown {
		t.Errorf("it printed %q", errs)
	}
}

func TestRefusedLinesArePrintedUpToALimit(t *testing.T) {
	s := newSession(t)
	out, errs, code := s.run(strings.Repeat("{no json\n", 3*transfer.MaxReported), "import", "-")
	if code != exit.Failure || !strings.Contains(out, fmt.Sprintf("refused %d,", 3*transfer.MaxReported)) {
		t.Errorf("the import ended with %d: %s", code, out)
	}
	if !strings.HasPrefix(errs, "line 1: the line is not a JSON object: invalid character 'n'") {
		t.Errorf("it printed no reason: %.100s", errs)
	}
	if n := strings.Count(errs, "\n"); n != transfer.MaxReported+2 {
		t.Errorf("%d lines on standard error, want %d, a word about the rest, and the error", n, transfer.MaxReported)
	}
}

func TestAnImportThatWaitsForInputCanBeInterrupted(t *testing.T) {
	s := newSession(t)
	silent, end := io.Pipe()
	defer end.Close()
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan struct{})
	var out, errs strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"import", "-", "--server", s.server}, announced{silent, sync.OnceFunc(func() { close(read) })}, &out, &errs)
	}()
	<-read
	cancel()
	if got := <-code; got != exit.Interrupted || !strings.HasPrefix(out.String(), "created 0,") {
		t.Errorf("it ended with %d and printed %q", got, out.String())
	}
}

// announced is a reader that calls a function before its first read.
type announced struct {
	io.Reader

	reading func()
}

func (a announced) Read(p []byte) (int, error) {
	a.reading()
	return a.Reader.Read(p)
}

func TestAFileInAnotherFormatIsRefusedWithARemedy(t *testing.T) {
	s := newSession(t)
	for in, says := range map[string]string{
		`[{"name":"a","delay":"1h","http":{"url":"http://127.0.0.1:9/"}}]`: "jq -c '.[]'",
		"\n[\n  {\"name\": \"a\"}\n]":                                      "jq -c '.[]'",
		"{\n  \"name\": \"a\"\n}":                                          "jq -c . FILE",
		"name,delay,url\na,1h,http://127.0.0.1:9/\n":                       "looks like CSV",
		"name;delay\n":      "looks like CSV",
		"tasks of Monday\n": "is not JSON",

		// The quotation leaves room for the reason.
		strings.Repeat("\x01\xff", 300): "is not JSON, and import needs one JSON object per line, such as {",
	} {
		stdout, stderr, code := s.run(in, "import", "-")
		if code != exit.Usage || stdout != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q ended with %d, %q: %q", in, code, stderr, stdout)
		}
	}
}
