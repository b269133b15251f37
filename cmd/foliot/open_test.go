package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/task"
)

// Secrets that no line of the log may show.
const (
	signingSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	urlPassword   = "hunter2"
)

// makeToken writes an operator's token into a directory.
func makeToken(t *testing.T, dir string) string {
	t.Helper()
	out, errs, code := newSession(t).runBare("token", "create", "--for", "operator", "--scope", "admin", "--data", dir)
	if code != exitOK {
		t.Fatal(errs)
	}
	return strings.TrimSpace(out)
}

// A directory whose only token is no operator's would make a server that nobody can manage.
func TestTheFirstTokenOfADirectoryIsAnOperators(t *testing.T) {
	session, dir := newSession(t), t.TempDir()
	for _, args := range [][]string{nil, {"--for", "operator"}, {"--scope", "admin"}} {
		out, errs, code := session.runBare(append([]string{"token", "create", "--data", dir}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "--for operator --scope admin") {
			t.Errorf("%v: code %d, %q, %q", args, code, out, errs)
		}
	}
	makeToken(t, dir)
	if _, errs, code := session.runBare("token", "create", "--data", dir, "--scope", "read"); code != exitOK {
		t.Errorf("the second one: %s", errs)
	}
}

func TestAServerIsReachedByOthersOnlyWithTokensAndNotInTheClear(t *testing.T) {
	bare, secured := filepath.Join(t.TempDir(), "bare"), filepath.Join(t.TempDir(), "secured")
	makeToken(t, secured)
	written := servertest.NewAuthority(t).Files(servertest.InAYear())
	files := httpserver.TLSFiles{Cert: written.Cert, Key: written.Key}
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		name    string
		addr    string
		dir     string
		change  func(*config.Config)
		refusal string // "": it listens
	}{
		{"loopback", anyPort, bare, nil, ""},
		{"loopback by name", "localhost:0", bare, nil, ""},
		{"loopback, a proxy", anyPort, bare, func(c *config.Config) { c.Proxies = proxies }, "foliot token create"},
		{"loopback, a proxy, in memory", anyPort, "", func(c *config.Config) { c.Proxies = proxies }, "--data"},
		{"loopback, a proxy, a token", anyPort, secured, func(c *config.Config) { c.Proxies = proxies }, ""},
		{"loopback, a proxy, insecure", anyPort, bare, func(c *config.Config) { c.Proxies, c.Insecure = proxies, true }, ""},
		{"no directory", "0.0.0.0:0", bare + "x", nil, "foliot token create"},
		{"no token", "0.0.0.0:0", bare, nil, "foliot token create"},
		{"no token, IPv6", "[::]:0", bare, nil, "foliot token create"},
		{"no token, TLS", "0.0.0.0:0", bare, func(c *config.Config) { c.TLS = files }, "foliot token create"},
		{"no token, a proxy", "0.0.0.0:0", bare, func(c *config.Config) { c.Proxies = proxies }, "foliot token create"},
		{"in memory", "0.0.0.0:0", "", nil, "--data"},
		{"no token, insecure", "0.0.0.0:0", bare, func(c *config.Config) { c.Insecure = true }, ""},
		{"a token, in the clear", "0.0.0.0:0", secured, nil, "--tls-cert"},
		{"a token, insecure", "0.0.0.0:0", secured, func(c *config.Config) { c.Insecure = true }, ""},
		{"a token, TLS", "0.0.0.0:0", secured, func(c *config.Config) { c.TLS = files }, ""},
		{"a token, a proxy", "0.0.0.0:0", secured, func(c *config.Config) { c.Proxies = proxies }, ""},
		{"a token, loopback", anyPort, secured, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig()
			cfg.Addr, cfg.Dir = c.addr, c.dir
			if c.change != nil {
				c.change(&cfg)
			}
			n, err := openServer(t.Context(), cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				n.listener.Close()
				ended := make(chan error, 1)
				ended <- nil // it never served
				if err := n.http.Shutdown(ended); err != nil {
					t.Error(err)
				}
				if err := n.node.Close(); err != nil {
					t.Error(err)
				}
			}
			if (err == nil) != (c.refusal == "") || err != nil && (exitCode(err) != exitUsage || !strings.HasPrefix(err.Error(), "--") || !strings.Contains(err.Error(), c.refusal)) {
				t.Errorf("got %v, want a refusal that says %q", err, c.refusal)
			}
		})
	}
}

// A receiver that hangs, strangers, forged and good tokens, broken requests:
// each leaves its lines, and none of them a secret.
func TestNoSecretReachesTheLogOfAServer(t *testing.T) {
	dir := t.TempDir()
	token, forged := makeToken(t, dir), task.TokenPrefix+strings.Repeat("A", 48)
	p := serveProcess(t, "--listen", anyPort, "--data", dir, "--log-format", "json", "--log-level", "debug")
	ask := func(method, path, header, value, body string) string {
		t.Helper()
		r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, value)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		said, _ := io.ReadAll(reply.Body)
		return string(said)
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
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /%s HTTP/9.9\r\nAuthorization: %s\r\n\r\n", token, bearer)
	_, _ = io.ReadAll(conn)
	conn.Close()
	http.DefaultClient.CloseIdleConnections()
	p.signal(terminate)
	_, log := p.exit()
	var answers struct{ Token, Secret string }
	_ = json.Unmarshal([]byte(made), &answers)
	_ = json.Unmarshal([]byte(secret), &answers)
	if !strings.HasPrefix(answers.Token, task.TokenPrefix) || !strings.HasPrefix(answers.Secret, task.SecretPrefix) {
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

func TestAccessAndAuditLogSayWhoAskedForWhat(t *testing.T) {
	dir := t.TempDir()
	token := makeToken(t, dir)
	cfg := testConfig()
	cfg.Dir = dir
	cfg.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := servertest.NewJournal()
	n := runNodeWith(t, cfg, redact.NewLogger(log, "json", "debug"), nil)
	r, err := http.NewRequest("POST", "http://"+n.listener.Addr().String()+"/v1/queues/mail/pause", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "X-Forwarded-For": {"198.51.100.7"}, "Foliot-Namespace": {"default"}}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	log.Await(t, `"msg":"request"`)
	var line struct {
		Level, Msg, Method, Route, Remote, Namespace string
		Status                                       int
		Took                                         int64
		TokenID                                      string `json:"token_id"`
	}
	for text := range strings.Lines(log.String()) {
		if strings.Contains(text, `"msg":"request"`) {
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
		}
	}
	hash, _ := task.HashToken(token)
	if line.Level != "DEBUG" || line.Method != "POST" || line.Route != "POST /v1/queues/{queue}/pause" || line.Remote != "198.51.100.7" ||
		line.Namespace != "default" || line.Status != 201 || line.Took <= 0 || line.TokenID == "" || !strings.HasPrefix(hash, line.TokenID) {
		t.Errorf("%+v", line)
	}
	audit, err := n.node.Store.Audit(t.Context(), task.AuditFilter{}, 0, 1)
	if err != nil || len(audit.Entries) != 1 || audit.Entries[0].Addr != line.Remote || audit.Entries[0].By != "token:"+line.TokenID {
		t.Errorf("the audit log has %+v, %v", audit.Entries, err)
	}
}
