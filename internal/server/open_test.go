package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

func TestOtherMachinesReachAServerOnlyWithTokensAndEncryption(t *testing.T) {
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
		refusal string // empty means that it listens
	}{
		{"loopback", anyPort, bare, nil, ""},
		{"loopback by name", "localhost:0", bare, nil, ""},
		{"loopback, a proxy", anyPort, bare, func(c *config.Config) { c.Proxies = proxies }, "foliot token generate"},
		{"loopback, a proxy, in memory", anyPort, "", func(c *config.Config) { c.Proxies = proxies }, "--bootstrap-token-file"},
		{"loopback, a proxy, a token", anyPort, secured, func(c *config.Config) { c.Proxies = proxies }, ""},
		{"loopback, a proxy, insecure", anyPort, bare, func(c *config.Config) { c.Proxies, c.Insecure = proxies, true }, ""},
		{"no directory", "0.0.0.0:0", bare + "x", nil, "foliot token generate"},
		{"no token", "0.0.0.0:0", bare, nil, "foliot token generate"},
		{"no token, IPv6", "[::]:0", bare, nil, "foliot token generate"},
		{"no token, TLS", "0.0.0.0:0", bare, func(c *config.Config) { c.TLS = files }, "foliot token generate"},
		{"no token, a proxy", "0.0.0.0:0", bare, func(c *config.Config) { c.Proxies = proxies }, "foliot token generate"},
		{"in memory", "0.0.0.0:0", "", nil, "--bootstrap-token-file"},
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
			n, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				closeUnstarted(t, n)
			}
			if (err == nil) != (c.refusal == "") || err != nil && (!errors.As(err, new(*usage.Error)) || !strings.HasPrefix(err.Error(), "--") || !strings.Contains(err.Error(), c.refusal)) {
				t.Errorf("got %v, want a refusal that says %q", err, c.refusal)
			}
		})
	}
}

// closeUnstarted closes a server that never ran.
func closeUnstarted(t *testing.T, n *Server) {
	t.Helper()
	n.listener.Close()
	ended := make(chan error, 1)
	ended <- nil
	if err := errors.Join(n.http.Shutdown(ended), n.close()); err != nil {
		t.Error(err)
	}
}

func TestTasksThatACrashLeftRunningAreCountedAtTheNextStart(t *testing.T) {
	cfg := testConfig()
	cfg.Dir = t.TempDir()
	makeToken(t, cfg.Dir) // in a directory with restricted access
	s, err := pebblestore.Open(cfg.Dir, pebblestore.Config{})
	fatal.If(t, err)
	now := task.FloorMillis(time.Now())
	spec := task.DefaultSpec()
	spec.Name, spec.ID, spec.Queue, spec.When, spec.Request.URL = "a", "a", "mail", task.When{At: now}, "https://receiver.example/"
	fatal.If(t, spec.Validate(now))
	created, err := s.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: spec}}))
	fatal.If(t, errors.Join(err, created[0].Err))
	claimed, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: spec.Key, Lane: created[0].Task.Lane(), Token: "t", Until: now + 60_000}}))
	fatal.If(t, errors.Join(err, claimed[0].Err, s.Close()))
	n, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	defer closeUnstarted(t, n)
	w := httptest.NewRecorder()
	n.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	if want := "\nfoliot_reclaims_total 1\n"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("the metrics lack %q:\n%s", want, w.Body)
	}
}

func TestAccessAndAuditLogNameTheCaller(t *testing.T) {
	dir := t.TempDir()
	token := makeToken(t, dir)
	cfg := testConfig()
	cfg.Dir = dir
	cfg.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := servertest.NewJournal()
	n := runNodeWith(t, cfg, redact.NewLogger(log, "json", "debug"), nil)
	r, err := http.NewRequest("POST", "http://"+n.listener.Addr().String()+"/v1/queues/mail/pause", nil)
	fatal.If(t, err)
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "X-Forwarded-For": {"198.51.100.7"}, "Foliot-Namespace": {"default"}}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(r)
	fatal.If(t, err)
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
			fatal.If(t, json.Unmarshal([]byte(text), &line))
		}
	}
	hash, _ := settings.HashToken(token)
	if line.Level != "DEBUG" || line.Method != "POST" || line.Route != "POST /v1/queues/{queue}/pause" || line.Remote != "198.51.100.7" ||
		line.Namespace != "default" || line.Status != 201 || line.Took <= 0 || line.TokenID == "" || !strings.HasPrefix(hash, line.TokenID) {
		t.Errorf("%+v", line)
	}
	audit, err := n.Node.Store.Audit(t.Context(), settings.AuditFilter{}, 0, 1)
	if err != nil || len(audit.Entries) != 1 || audit.Entries[0].Addr != line.Remote || audit.Entries[0].By != "token:"+line.TokenID {
		t.Errorf("the audit log has %+v, %v", audit.Entries, err)
	}
}
