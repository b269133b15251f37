package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
)

// Secrets that the log must not contain.
const (
	signingSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	urlPassword   = "hunter2"
)

// makeToken writes an operator's token into a directory.
func makeToken(t *testing.T, dir string) string {
	t.Helper()
	out, errs, code := newSession(t).runBare("token", "create", "--for", "operator", "--scope", "admin", "--data", dir)
	if code != exit.OK {
		t.Fatal(errs)
	}
	return strings.TrimSpace(out)
}

// If the only token of a directory were not an operator's, the server could not
// be managed.
func TestTheFirstTokenOfADirectoryIsAnOperators(t *testing.T) {
	session, dir := newSession(t), t.TempDir()
	for _, args := range [][]string{nil, {"--for", "operator"}, {"--scope", "admin"}} {
		out, errs, code := session.runBare(append([]string{"token", "create", "--data", dir}, args...)...)
		if code != exit.Usage || out != "" || !strings.Contains(errs, "--for operator --scope admin") {
			t.Errorf("%v: code %d, %q, %q", args, code, out, errs)
		}
	}
	makeToken(t, dir)
	if _, errs, code := session.runBare("token", "create", "--data", dir, "--scope", "read"); code != exit.OK || strings.Contains(errs, "first token") {
		t.Errorf("the second one: %s", errs)
	}
}

// The first token closes the server, and loopback for tasks. The user who
// creates it and the reader of the log must both learn this.
func TestTheFirstTokenIsAnnounced(t *testing.T) {
	const create = "token create --for operator --scope admin"
	announced := func(errs string) bool {
		return strings.Contains(errs, "every request needs a token") && strings.Contains(errs, "--egress-allow")
	}
	session, dir := newSession(t), t.TempDir()
	if _, errs, code := session.runBare(append(strings.Fields(create), "--data", dir)...); code != exit.OK || !announced(errs) {
		t.Errorf("in a directory: code %d, %s", code, errs)
	}

	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	session.server = p.url
	token, errs, code := session.run("", strings.Fields(create)...)
	if code != exit.OK || !announced(errs) {
		t.Errorf("at a server: code %d, %s", code, errs)
	}
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(token))
	if _, errs, code := session.run("", strings.Fields(create)...); code != exit.OK || announced(errs) {
		t.Errorf("the second one: code %d, %s", code, errs)
	}
	p.signal(terminate)
	if _, log := p.exit(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "the first token was created") {
		t.Errorf("the log of the server:\n%s", log)
	}
}

// A receiver that hangs, requests without a token, with invalid and with valid
// tokens, and malformed requests all write to the log, but never a secret.
func TestNoSecretReachesTheLogOfAServer(t *testing.T) {
	dir := t.TempDir()
	token, forged := makeToken(t, dir), settings.TokenPrefix+strings.Repeat("A", 48)
	p := serveProcess(t, "--listen", anyPort, "--data", dir, "--log-format", "json", "--log-level", "debug")
	ask := func(method, path, header, value, body string) string {
		t.Helper()
		r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
		fatal.If(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, value)
		reply, err := http.DefaultClient.Do(r)
		fatal.If(t, err)
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body)
		return string(text)
	}
	bearer := "Bearer " + token
	ask("GET", "/v1/tasks", "Authorization", bearer, "")
	ask("GET", "/v1/tasks", "Authorization", "Bearer "+forged, "")
	ask("GET", "/v1/tasks?token="+token, "Authorization", bearer, "")
	ask("GET", "/v1/tasks/"+token, "Authorization", bearer, "")
	ask("GET", "/"+token+"?key="+token, "Cookie", token, "")
	ask("POST", "/v1/tasks", "Authorization", bearer, `{"delay": "0s", "name": "a", "http": {"url": "http://127.0.0.1:9/?key=`+token+`", "headers": {"x-key": "`+token+`"}, "body": "`+token+`"}}`)
	ask("POST", "/v1/tasks", "Authorization", bearer, `{"delay": "0s", "http": {"url": "http://user:`+urlPassword+`@127.0.0.1:9/"}}`)
	ask("POST", "/v1/tasks", "Authorization", bearer, `{"delay": "`+token)
	made := ask("POST", "/v1/tokens", "Authorization", bearer, `{"scope": "read", "namespace": "default"}`)
	ask("POST", "/v1/secrets", "Authorization", bearer, `{"secret": "`+signingSecret+`"}`)
	secret := ask("POST", "/v1/secrets", "Authorization", bearer, `{}`)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	fatal.If(t, err)
	fmt.Fprintf(conn, "GET /%s HTTP/9.9\r\nAuthorization: %s\r\n\r\n", token, bearer)
	_, _ = io.ReadAll(conn)
	conn.Close()
	http.DefaultClient.CloseIdleConnections()
	p.signal(terminate)
	_, log := p.exit()
	var answers struct{ Token, Secret string }
	_ = json.Unmarshal([]byte(made), &answers)
	_ = json.Unmarshal([]byte(secret), &answers)
	if !strings.HasPrefix(answers.Token, settings.TokenPrefix) || !strings.HasPrefix(answers.Secret, settings.SecretPrefix) {
		t.Fatalf("no secrets were made: the test proves nothing: %s %s", made, secret)
	}
	for _, hidden := range []string{token, forged, urlPassword, signingSecret, answers.Token, answers.Secret, "x-key"} {
		if strings.Contains(log, hidden) {
			t.Errorf("the log holds %s:\n%s", hidden, log)
		}
	}
	if n := strings.Count(log, `"msg":"request"`); n < 10 {
		t.Errorf("%d requests are in the log: the test proves nothing:\n%s", n, log)
	}
}
