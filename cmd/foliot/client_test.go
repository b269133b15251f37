package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/wire"
)

func TestASilentServerIsNamedAndExits5(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := "http://" + l.Addr().String()
	l.Close() // now nobody listens there
	s := newSession(t)
	for _, line := range []string{"ls", "get a", "cancel a b", "add http://127.0.0.1:9/ --in 1s", "import -", "export"} {
		var out, errs strings.Builder
		code := run(t.Context(), append(s.words(line), "--server", server), strings.NewReader(`{"name":"a","delay":"1s","http":{"url":"http://127.0.0.1:9/"}}`), &out, &errs)
		if code != exitUnreachable || !strings.Contains(errs.String(), server) || !strings.Contains(errs.String(), "foliot serve") {
			t.Errorf("foliot %s ended with %d and said %q", line, code, errs.String())
		}
	}
}

func TestAServerThatIsNotFoliotIsCalledThat(t *testing.T) {
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
			if code != exitFailure || !strings.Contains(stderr, "is it a Foliot server?") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("it ended with %d and said %q", code, stderr)
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
	if code != exitInterrupted || errs.String() != "foliot: interrupted\n" {
		t.Errorf("it ended with %d and said %q", code, errs.String())
	}
}

func TestAJSONBodyGoesOutByteForByte(t *testing.T) {
	for _, body := range []string{
		`{"a": 1,  "b":[ 1, 2 ]}`,
		"{\n  \"http\": {\"url\": \"x\"}\n}",
		`[12345678901234567890, "<b>&", "\u00e9"]`,
		`null`,
	} {
		raw, err := encodeTask(wire.TaskInput{
			Name: "a", Delay: "1s", Labels: map[string]string{"http": `"http":{"url":`},
			HTTP: wire.HTTPInput{URL: `http://x/?"http":{"url":"`, Body: []byte(body)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), `"body":`+body+`}`) {
			t.Errorf("the body %s goes out as %s", body, raw)
		}
	}
}
