package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/wire"
)

func TestASilentServerIsNamedAndExits5(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	server := "http://" + l.Addr().String()
	l.Close() // now no process listens there
	s := newSession(t)
	for _, line := range []string{"ls", "get a", "cancel a b", "add http://127.0.0.1:9/ --in 1s", "import -", "export"} {
		var out, errs strings.Builder
		code := run(t.Context(), append(s.words(line), "--server", server), strings.NewReader(`{"name":"a","delay":"1s","http":{"url":"http://127.0.0.1:9/"}}`), &out, &errs)
		if code != exit.Unreachable || !strings.Contains(errs.String(), server) || !strings.Contains(errs.String(), "foliot serve") {
			t.Errorf("foliot %s ended with %d and printed %q", line, code, errs.String())
		}
	}
}

// A server without its store answers 503 after two seconds. A command must not
// retry silently for nine seconds.
func TestACommandRetriesOnceAfter503(t *testing.T) {
	quick.Leave(t, "waits for a retry")
	t.Parallel() // it waits for the server
	srv, asked := newStoreless(t)
	_, stderr, code := (&session{t: t, server: srv}).run("", "get", "a")
	if code != exit.Failure || asked.Load() != 2 {
		t.Errorf("after %d tries it ended with %d", asked.Load(), code)
	}
	if want := "foliot: get a: told so: retry soon; `foliot doctor` and the log of foliot serve have the reason\n"; stderr != want {
		t.Errorf("it printed %q", stderr)
	}
}

// newStoreless returns the URL of a server that cannot reach its store, and the
// number of requests that it has refused.
func newStoreless(t *testing.T) (url string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return fake(t, nil, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-time.After(2 * time.Second): // as long as the server itself retries
		case <-r.Context().Done():
		}
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "unavailable")
	}), asked
}

// fake returns the URL of a server with some replies by path. It is idle in its
// live data, unless these are among the replies. Other requests go to rest.
func fake(t *testing.T, replies map[string]string, rest http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reply, ok := replies[r.URL.Path]; ok {
			fmt.Fprint(w, reply)
		} else if r.URL.Path == "/v1/live" {
			fmt.Fprint(w, idle(time.Now()))
		} else {
			rest(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// idle is the live data of an idle server.
func idle(now time.Time) string {
	return fmt.Sprintf(`{"now": %[1]q, "at": %[1]q, "slots": 10, "queues": [], "destinations": []}`, wire.FormatTime(now))
}

// refuse replies with a problem.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status": %d, "code": %q, "detail": "told so"}`, status, code)
}

func TestAWrongSchemeIsReportedWithTheRightOne(t *testing.T) {
	data := t.TempDir()
	ca := servertest.NewAuthority(t)
	cert, key := filepath.Join(data, "crt"), filepath.Join(data, "key")
	certPEM, keyPEM := ca.Leaf(time.Time{})
	for file, text := range map[string][]byte{cert: certPEM, key: keyPEM} {
		fatal.If(t, os.WriteFile(file, text, 0o600))
	}
	for _, p := range []*process{
		serveHere(t, "--listen", anyPort, "--store", "memory:"),
		serveHere(t, "--listen", anyPort, "--store", "memory:", "--tls-cert", cert, "--tls-key", key),
	} {
		right := p.url
		other := "https" + strings.TrimPrefix(right, "http")
		if strings.HasPrefix(right, "https") {
			other = "http" + strings.TrimPrefix(right, "https")
		}
		for _, line := range []string{"ls", "add http://127.0.0.1:9/ --in 1s", "doctor"} {
			_, stderr, code := (&session{t: t, server: other}).run("", strings.Fields(line)...)
			if code != exit.Unreachable || !strings.HasSuffix(stderr, "set --server or FOLIOT_SERVER to "+right+"\n") {
				t.Errorf("foliot %s at %s ended with %d and printed %q", line, other, code, stderr)
			}
		}
	}
}

func TestAServerThatIsNotFoliotIsReported(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"404 in HTML":     http.NotFound,
		"200 in HTML":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"a redirect":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"500 without any": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(answer)
			defer srv.Close()
			s := &session{t: t, server: srv.URL}
			_, stderr, code := s.run("", "ls")
			if code != exit.Failure || !strings.Contains(stderr, "is it a Foliot server?") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("it ended with %d and printed %q", code, stderr)
			}
		})
	}
}

func TestAnInterruptedCommandExits130(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer srv.Close()
	go func() {
		<-asked
		cancel()
	}()
	var out, errs strings.Builder
	code := run(ctx, []string{"ls", "--server", srv.URL}, strings.NewReader(""), &out, &errs)
	if code != exit.Interrupted || errs.String() != "foliot: interrupted\n" {
		t.Errorf("it ended with %d and printed %q", code, errs.String())
	}
}

func TestATokenIsSentOnlyToTheServer(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.Header().Set("Content-Type", wire.ProblemType)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":"unauthorized","detail":"the token is not known"}`))
	}))
	defer srv.Close()
	s := &session{t: t, server: srv.URL, dir: t.TempDir()}
	file := filepath.Join(s.dir, "token")
	fatal.If(t, os.WriteFile(file, []byte("foliot_secret\n"), 0o600))
	for _, line := range []string{"--token foliot_secret ls", "ls --token-file $DIR/token --namespace acme"} {
		stdout, stderr, code := s.run("", s.words(line)...)
		if code != exit.Failure || got.Get("Authorization") != "Bearer foliot_secret" || !strings.Contains(stderr, "FOLIOT_TOKEN") || strings.Contains(stdout+stderr, "foliot_secret") {
			t.Errorf("foliot %s ended with %d, sent %v and printed %q", line, code, got, stderr)
		}
	}
	if got.Get("Foliot-Namespace") != "acme" {
		t.Errorf("sent %v", got)
	}
	for line, names := range map[string]string{
		"--token a --token-file $DIR/token ls": "--token-file",
		"--token-file $DIR/none ls":            "--token-file",
		"--ca-cert $DIR/none ls":               "--ca-cert",
		"--ca-cert $DIR/token ls":              "--ca-cert",
		"--namespace 'a b' ls":                 "--namespace",
	} {
		if _, stderr, code := s.run("", s.words(line)...); code != exit.Usage || !strings.Contains(stderr, names) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("foliot %s ended with %d and printed %q", line, code, stderr)
		}
	}
	// A command without a server needs no valid settings for one.
	wants(t, exit.OK)(s.run("", s.words("--token-file $DIR/none token generate")...))
}
