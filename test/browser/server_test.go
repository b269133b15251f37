package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// server is a running foliot behind a proxy that serves it below a path.
type server struct {
	t     *testing.T
	url   string // of the server itself
	proxy string // the URL of the proxy
	token string // of an operator; "" means that the server has none
	cmd   *exec.Cmd
	args  []string
}

const below = "/tools/foliot"

// newServer starts a server with an embedded store, and a proxy for it.
func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, args: []string{"serve", "-o", "json", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--egress-allow", "127.0.0.0/8", "--log-level", "error"}}
	s.start()
	proxy := httptest.NewServer(newProxy(func() string { return s.url }))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	s.proxy = proxy.URL + below
	return s
}

// newSecured starts a server with the token of an operator.
func newSecured(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.token = s.newToken("admin", "*")
	return s
}

// noError ends the test if there is an error.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newProxy returns a handler that forwards requests to the server whose URL it is told.
// It reads the body of a request before it forwards any of it: net/http ends a
// body when the reply begins, and httputil.ReverseProxy would then cut off the
// reply if it had not yet read to the end of the body (golang/go#40747).
func newProxy(server func() string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // the tests kill the server
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := url.Parse(server())
			r.SetURL(to)
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, below)
			if r.Out.Body != nil {
				body, _ := io.ReadAll(r.In.Body) // a shorter body fails when it is sent
				r.Out.Body = io.NopCloser(bytes.NewReader(body))
			}
		},
	}
}

// start starts the process, and waits until it listens.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(binary, s.args...)
	s.cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1 atexit_sleep_ms=0")
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	noError(s.t, err)
	noError(s.t, s.cmd.Start())
	s.t.Cleanup(s.stop)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		s.t.Fatalf("the server ended: %v", err)
	}
	var reply struct{ URL string }
	if err := json.Unmarshal(line, &reply); err != nil {
		s.t.Fatalf("%q: %v", line, err)
	}
	s.url = reply.URL
}

// stop ends the process at once.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// restart kills the process and starts it again with the same store and address.
func (s *server) restart() {
	s.stop()
	s.args[4] = strings.TrimPrefix(s.url, "http://")
	s.start()
}

// call sends a request, and decodes the reply into to unless that is nil. It
// returns the status.
func (s *server) call(token, method, path string, body, to any) int {
	s.t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		noError(s.t, err)
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, s.url+path, sent)
	noError(s.t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	reply, err := http.DefaultClient.Do(r)
	noError(s.t, err)
	defer reply.Body.Close()
	if to != nil {
		if err := json.NewDecoder(reply.Body).Decode(to); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return reply.StatusCode
}

// must is call for a request that must succeed.
func (s *server) must(method, path string, body, to any) {
	s.t.Helper()
	if status := s.call(s.token, method, path, body, to); status < 200 || status > 299 {
		s.t.Fatalf("%s %s: status %d", method, path, status)
	}
}

type object = map[string]any

// newToken creates a token and returns it.
func (s *server) newToken(scope, namespace string) string {
	s.t.Helper()
	var token struct{ Token string }
	s.must("POST", "/v1/tokens", object{"scope": scope, "namespace": namespace, "label": "test " + scope}, &token)
	return token.Token
}
