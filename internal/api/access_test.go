package api_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"

	"context"
)

func TestTheFirstTokenIsAnOperators(t *testing.T) {
	s := serve(t)
	for _, body := range []string{`{"scope": "admin"}`, `{"scope": "read", "namespace": "*"}`, `{"scope": "admin", "namespace": "default"}`} {
		s.do("POST", "/v1/tokens", body).problem(409, "first_token", "")
	}
	s.do("GET", "/v1/tasks", "").want(200, nil)
	var made wire.Token
	r := s.do("POST", "/v1/tokens", `{"scope": "admin", "namespace": "*", "label": "the operator's"}`).want(201, &made)
	if made.Namespace != "*" || made.State != "active" || made.Label != "the operator's" || !strings.HasPrefix(made.Token, "foliot_") || r.header.Get("Location") != "/v1/tokens/"+made.ID {
		t.Errorf("%+v %v", made, r.header)
	}
	s.do("GET", "/v1/tasks", "").problem(401, "token_required", "Authorization")
	s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+made.Token).want(200, nil)
	// Revoking it does not open the server again.
	s.do("DELETE", "/v1/tokens/"+made.ID, "", "Authorization: Bearer "+made.Token).want(200, nil)
	s.do("GET", "/v1/tasks", "").problem(401, "token_required", "Authorization")
}

func TestATokenIsShownOnce(t *testing.T) {
	s := serve(t)
	operator := s.token("*", task.ScopeAdmin)
	var made wire.Token
	s.do("POST", "/v1/tokens", `{"scope": "write", "label": "shop"}`, operator).want(201, &made)
	hash, _ := task.HashToken(made.Token)
	for _, r := range []reply{
		s.do("GET", "/v1/tokens", "", operator), s.do("DELETE", "/v1/tokens/"+made.ID, "", operator), s.do("DELETE", "/v1/tokens/"+made.ID, "", operator), s.do("GET", "/v1/audit", "", operator),
	} {
		r.want(200, nil)
		if !bytes.Contains(r.body, []byte(made.ID)) || bytes.Contains(r.body, []byte("foliot_")) || bytes.Contains(r.body, []byte(hash)) {
			t.Errorf("%s", r.body)
		}
	}
	s.do("DELETE", "/v1/tokens/none", "", operator).problem(404, "not_found", "")
}

func TestBadTokensAreRefused(t *testing.T) {
	s := serve(t)
	operator, admin := s.token("*", task.ScopeAdmin), s.token("default", task.ScopeAdmin)
	for body, want := range map[string]string{
		`{}`: "400 required scope", `{"scope": "root"}`: "400 bad_scope scope", `{"scope": 1}`: "400 wrong_type scope", `{"scope": "read", "namespace": "a b"}`: "400 bad_name namespace",
		`{"scope": "read", "namespace": "nobody"}`: "404 unknown_namespace ", `{"scope": "read", "expires_in": "0s"}`: "400 out_of_range expires_in",
		`{"scope": "read", "expires_at": "2001-01-01T00:00:00Z"}`: "400 out_of_range expires_at", `{"scope": "read", "expires_in": "1h", "expires_at": "2101-01-01T00:00:00Z"}`: "400 two_times expires_at",
		`{"scope": "read", "label": "` + strings.Repeat("x", 257) + `"}`: "400 bad_label label", `{"scope": "read", "token": "mine"}`: "400 unknown_field token", `{"scope": "read", "scope": "admin"}`: "400 duplicate_key scope",
	} {
		r := s.do("POST", "/v1/tokens", body, operator)
		var p wire.Problem
		r.want(r.status, &p)
		if got := fmt.Sprint(r.status, " ", p.Code, " ", p.Field); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	// One namespace's admin makes tokens of its own namespace only.
	s.namespace("other")
	for _, namespace := range []string{"other", "*", "nobody"} {
		s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "`+namespace+`"}`, admin).problem(403, "wrong_namespace", "namespace")
	}
	s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "default"}`, admin).want(201, nil)
	s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "other"}`, operator).want(201, nil)
}

func TestASecretIsRotatedWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		signing := func() (secrets []string) {
			for _, secret := range s.store.Settings().Secrets("default", task.CeilMillis(time.Now())) {
				secrets = append(secrets, secret.Secret)
			}
			return secrets
		}
		var first, second, third wire.Secret
		s.do("POST", "/v1/secrets", "").want(201, &first)
		if !strings.HasPrefix(first.Secret, "whsec_") || first.ExpiresAt != "" || fmt.Sprint(signing()) != fmt.Sprint([]string{first.Secret}) {
			t.Errorf("%+v, signing %v", first, signing())
		}
		time.Sleep(time.Second)
		own := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
		s.do("POST", "/v1/secrets", `{"secret": "`+own+`", "overlap": "24h"}`).want(201, &second)
		if second.Secret != own || fmt.Sprint(signing()) != fmt.Sprint([]string{own, first.Secret}) {
			t.Errorf("%+v, signing %v", second, signing())
		}
		s.do("POST", "/v1/secrets", `{}`).problem(409, "busy", "")
		var list wire.SecretList
		r := s.do("GET", "/v1/secrets", "").want(200, &list)
		if len(list.Secrets) != 2 || list.Secrets[0].ID != second.ID || list.Secrets[1].ExpiresAt != wire.FormatTime(time.Now().Add(24*time.Hour)) || strings.Contains(string(r.body), "whsec_") {
			t.Errorf("%s", r.body)
		}
		time.Sleep(24 * time.Hour)
		if got := signing(); len(got) != 1 || got[0] != own {
			t.Errorf("signing %v", got)
		}
		s.do("DELETE", "/v1/secrets/"+first.ID, "").problem(404, "not_found", "")
		s.do("POST", "/v1/secrets", ``).want(201, &third)
		if r := s.do("DELETE", "/v1/secrets/"+second.ID, "").want(200, nil); strings.Contains(string(r.body), "whsec_") {
			t.Errorf("%s", r.body)
		}
		if got := signing(); len(got) != 1 || got[0] != third.Secret {
			t.Errorf("signing %v", got)
		}
		if log := s.do("GET", "/v1/audit", "").want(200, nil); strings.Contains(string(log.body), "whsec_") || !strings.Contains(string(log.body), "secret.delete") {
			t.Errorf("%s", log.body)
		}
	})
}

func TestBadSecretsAreRefused(t *testing.T) {
	s := serve(t)
	b64 := base64.StdEncoding.EncodeToString
	for _, secret := range []string{
		"", "whsec_", "whsec_x", b64(make([]byte, 32)), "whsec_" + b64(make([]byte, 23)), "whsec_" + b64(make([]byte, 65)), "WHSEC_" + b64(make([]byte, 32)),
		"whsec_" + strings.TrimRight(b64(make([]byte, 32)), "="), `whsec_` + b64(make([]byte, 32)) + `\n`, "whsec_" + b64(make([]byte, 15)) + `\r\n` + b64(make([]byte, 15)),
	} {
		r := s.do("POST", "/v1/secrets", `{"secret": "`+secret+`"}`)
		if r.problem(400, "bad_secret", "secret"); len(secret) > 8 && strings.Contains(string(r.body), secret) {
			t.Errorf("the reply repeats it: %s", r.body)
		}
	}
	s.do("POST", "/v1/secrets", `{"overlap": "-1h"}`).problem(400, "out_of_range", "overlap")
	s.do("POST", "/v1/secrets", `{"key": "x"}`).problem(400, "unknown_field", "key")
}

func TestANamespaceIsMadeAndRemovedByOperators(t *testing.T) {
	s := serve(t)
	var n wire.Namespace
	s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 2, "max_bytes": 10, "create_rate": 0.5, "create_burst": 3}`, "If-None-Match: *").want(201, &n)
	if n.MaxPending != 2 || n.MaxBytes != 10 || n.CreateRate != 0.5 || n.CreateBurst != 3 || n.Version != 1 {
		t.Errorf("%+v", n)
	}
	var list wire.NamespaceList
	s.do("GET", "/v1/namespaces", "").want(200, &list)
	if len(list.Namespaces) != 2 || list.Namespaces[0].Name != "acme" || list.Namespaces[1].Name != "default" {
		t.Errorf("%+v", list)
	}
	acme := "Foliot-Namespace: acme"
	s.do("POST", "/v1/tasks", hour, acme).want(201, nil)
	s.do("PUT", "/v1/queues/q", `{"rate": 1}`, acme).want(201, nil)
	n = wire.Namespace{}
	if s.do("GET", "/v1/namespaces/acme", "").want(200, &n); n.Counts.Scheduled != 1 {
		t.Errorf("%+v", n)
	}
	s.do("DELETE", "/v1/namespaces/acme", "").problem(409, "busy", "")
	s.do("DELETE", "/v1/tasks/a", "", acme).want(200, nil)
	s.do("DELETE", "/v1/namespaces/acme", "").problem(409, "busy", "") // its record is kept for reading
	if _, err := s.store.Sweep(t.Context(), task.CeilMillis(time.Now().Add(25*time.Hour)), 10); err != nil {
		t.Fatal(err)
	}
	s.do("DELETE", "/v1/namespaces/acme", "").want(200, nil)
	s.do("GET", "/v1/tasks", "", acme).problem(404, "unknown_namespace", "Foliot-Namespace")
	for _, method := range []string{"GET", "DELETE"} {
		s.do(method, "/v1/namespaces/acme", "").problem(404, "unknown_namespace", "")
	}
	if q := s.store.Settings().Queue("acme", "q"); q.Version != 0 {
		t.Errorf("its queue is left: %+v", q)
	}
	s.do("PUT", "/v1/namespaces/a@b", `{}`).problem(400, "bad_name", "namespace")
	s.do("PUT", "/v1/namespaces/b", `{"max_pending": -1}`).problem(400, "out_of_range", "max_pending")
	s.do("PUT", "/v1/namespaces/b", `{"max": 1}`).problem(400, "unknown_field", "max")
	s.do("PUT", "/v1/namespaces/b", `{}`, "If-Match: *").problem(412, "precondition_failed", "")
}

func TestQuotasBoundANamespace(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 2, "max_bytes": 10}`).want(201, nil)
	acme := "Foliot-Namespace: acme"
	with := func(name, body string) string {
		return `{"name": "` + name + `", "delay": "1h", "http": {"url": "http://example.com/", "body": "` + body + `"}}`
	}
	s.do("POST", "/v1/tasks", with("a", "12345"), acme).want(201, nil)
	s.do("POST", "/v1/tasks", with("b", "123456"), acme).problem(403, "quota_exceeded", "max_bytes")
	s.do("POST", "/v1/tasks", with("b", "12345"), acme).want(201, nil)
	s.do("POST", "/v1/tasks", with("c", ""), acme).problem(403, "quota_exceeded", "max_pending")
	s.do("PUT", "/v1/tasks/a", strings.Replace(with("a", "123456"), `"name": "a", `, "", 1), acme).problem(403, "quota_exceeded", "max_bytes")
	s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "", acme).problem(403, "quota_exceeded", "max_pending")
	var batch wire.BatchReply
	s.do("POST", "/v1/tasks/batch", `{"tasks": [`+with("d", "")+`]}`, acme).want(200, &batch)
	if r := batch.Results[0]; r.Status != 403 || r.Code != "quota_exceeded" || r.Field != "max_pending" {
		t.Errorf("%+v", r)
	}
	s.do("DELETE", "/v1/tasks/a", "", acme).want(200, nil)
	s.do("POST", "/v1/tasks", with("e", "12345"), acme).want(201, nil)
	s.do("POST", "/v1/tasks", hour).want(201, nil) // another namespace's is its own
}

func TestTheCreateRateBoundsEveryWayToCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("PUT", "/v1/namespaces/acme", `{"create_rate": 0.5, "create_burst": 4}`).want(201, nil)
		acme := "Foliot-Namespace: acme"
		publish := "/v1/publish?url=http%3A%2F%2Fexample.com%2F"
		s.do("POST", "/v1/tasks", named("a"), acme).want(201, nil)
		s.do("PUT", "/v1/tasks/b", named("b"), acme).want(201, nil)
		s.do("POST", publish, "x", acme, "Foliot-Delay: 1h").want(201, nil)
		var batch wire.BatchReply
		s.do("POST", "/v1/tasks/batch", `{"tasks": [{}, `+named("c")+`,`+named("d")+`]}`, acme).want(200, &batch)
		if r := batch.Results; r[0].Status != 400 || r[1].Status != 201 || r[2].Status != 429 || r[2].Code != "rate_exceeded" || r[2].Field != "create_rate" {
			t.Errorf("%+v", r)
		}
		for _, r := range []reply{s.do("POST", "/v1/tasks", named("e"), acme), s.do("PUT", "/v1/tasks/b", named("b"), acme), s.do("POST", publish, "x", acme)} {
			if r.problem(429, "rate_exceeded", "create_rate"); r.header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
			}
		}
		s.do("PATCH", "/v1/tasks/a", `{"timeout": "1s"}`, acme).want(200, nil) // makes nothing
		s.do("POST", "/v1/tasks", hour).want(201, nil)
		time.Sleep(2 * time.Second)
		s.do("POST", "/v1/tasks", named("e"), acme).want(201, nil)
		s.do("POST", "/v1/tasks", named("f"), acme).problem(429, "rate_exceeded", "create_rate")
		made := 0
		for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
			if s.do("POST", "/v1/tasks", strings.Replace(hour, `"name": "a", `, "", 1), acme).status == 201 {
				made++
			}
		}
		if made < 1799 || made > 1801 {
			t.Errorf("%d creates in an hour at 0.5 a second", made)
		}
	})
}

func TestTheAuditLogIsReadInPages(t *testing.T) {
	s := serve(t)
	for i := range 7 {
		s.do("POST", "/v1/tasks", named(fmt.Sprintf("t%d", i))).want(201, nil)
	}
	s.do("DELETE", "/v1/tasks/t3", "").want(200, nil)
	s.do("PUT", "/v1/queues/q", `{}`).want(201, nil)
	var all []string
	for more := ""; ; {
		var page wire.AuditList
		s.do("GET", "/v1/audit?limit=4"+more, "").want(200, &page)
		for _, e := range page.Entries {
			all = append(all, e.Action+" "+e.Target)
		}
		if page.NextCursor == "" {
			break
		}
		more = "&cursor=" + page.NextCursor
	}
	if got, want := strings.Join(all, ", "), "queue.put q, task.cancel t3, task.create t6, task.create t5, task.create t4, task.create t3, task.create t2, task.create t1, task.create t0"; got != want {
		t.Errorf("the log has %s", got)
	}
	for filter, want := range map[string]int{
		"action=task.create": 7, "target=t3": 2, "by=anonymous": 9, "by=upkeep": 0, "until=2000-01-01T00:00:00Z": 0, "from=2000-01-01T00:00:00Z": 9,
		"until=1900-01-01T00:00:00Z": 0, "from=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339): 0,
	} {
		var page wire.AuditList
		if s.do("GET", "/v1/audit?"+filter, "").want(200, &page); len(page.Entries) != want {
			t.Errorf("%s: %d entries, want %d", filter, len(page.Entries), want)
		}
	}
	s.do("GET", "/v1/audit?from=yesterday", "").problem(400, "bad_time", "from")
	s.do("GET", "/v1/audit?by=", "").problem(400, "bad_parameter", "by")
	s.do("GET", "/v1/audit?limit=0", "").problem(400, "bad_parameter", "limit")
	s.do("GET", "/v1/audit?cursor=MTE", "").problem(400, "bad_cursor", "cursor")
}

// The entries of all namespaces are numbered in one row: a cursor must not tell
// how many the others made, nor be good for another namespace.
func TestACursorOfTheAuditLogTellsNothing(t *testing.T) {
	s := serve(t)
	s.namespace("acme")
	for i := range 3 {
		s.do("POST", "/v1/tasks", named(fmt.Sprintf("t%d", i)), "Foliot-Namespace: acme").want(201, nil)
	}
	var page wire.AuditList
	s.do("GET", "/v1/audit?limit=1", "", "Foliot-Namespace: acme").want(200, &page)
	raw, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
	if err != nil || len(raw) != 16 || bytes.HasPrefix(raw, make([]byte, 6)) {
		t.Errorf("the cursor is % x", raw)
	}
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "", "Foliot-Namespace: acme").want(200, nil)
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "", "Foliot-Namespace: default").problem(400, "bad_cursor", "cursor")
	s.do("GET", "/v1/audit?limit=1&cursor="+page.NextCursor, "").problem(400, "bad_cursor", "cursor")
}

func TestABackupIsStreamed(t *testing.T) {
	serve(t).do("GET", "/v1/backup", "").problem(501, "unsupported", "")
	s := serve(t, func(c *api.Config) {
		c.Backup = func(_ context.Context, w io.Writer) error {
			for range 100 {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return err
				}
			}
			return nil
		}
	})
	r := s.do("GET", "/v1/backup", "").want(200, nil)
	if len(r.body) != 100_000 || r.header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("%d bytes, %v", len(r.body), r.header)
	}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"} {
		s.do("GET", "/v1/backup", "", header).problem(403, "cross_origin", "")
	}
	s.do("GET", "/v1/backup", "", "Sec-Fetch-Site: same-origin").want(200, nil)
	s.do("GET", "/v1/backup", "", "Sec-Fetch-Site: none").want(200, nil)
}

func TestABackupThatBreaksOffIsNoBackup(t *testing.T) {
	for _, c := range []struct {
		written int
		panics  bool
	}{{0, false}, {10, false}, {0, true}, {10, true}} {
		written, panics := c.written, c.panics
		var log bytes.Buffer
		s := &service{T: t, Server: api.New(api.Config{
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Backup: func(_ context.Context, w io.Writer) error {
				_, _ = w.Write(make([]byte, written))
				if panics {
					panic("/secret/path")
				}
				return errors.New("read /secret/path: broken")
			},
		}, memstore.New(memstore.Config{}))}
		server := httptest.NewServer(s)
		resp, err := http.Get(server.URL + "/v1/backup")
		if err != nil {
			if written == 0 {
				t.Error(err)
			}
			server.Close()
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		server.Close()
		if written == 0 && (resp.StatusCode != 500 || strings.Contains(string(body), "secret")) || written > 0 && err == nil {
			t.Errorf("after %d bytes: %d, %v, %s", written, resp.StatusCode, err, body)
		}
		if !strings.Contains(log.String(), "/secret/path") {
			t.Errorf("logged %s", log.String())
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestABackupEndsWithItsToken(t *testing.T) {
	var s *service
	var operator wire.Token
	s = serve(t, func(c *api.Config) {
		c.Backup = func(_ context.Context, w io.Writer) error {
			if _, err := w.Write([]byte("x")); err != nil {
				return err
			}
			s.configure(task.RevokeToken{Namespace: "*", ID: operator.ID})
			_, err := w.Write([]byte("y"))
			return err
		}
	})
	s.do("POST", "/v1/tokens", `{"scope": "admin", "namespace": "*"}`).want(201, &operator)
	defer func() {
		if recover() == nil {
			t.Error("the transfer went on")
		}
	}()
	s.do("GET", "/v1/backup", "", "Authorization: Bearer "+operator.Token)
}

// A backup may take longer than any other reply; only a reader that stops reading ends it.
func TestABackupOutlivesTheWriteTimeout(t *testing.T) {
	s := serve(t, func(c *api.Config) {
		c.Backup = func(ctx context.Context, w io.Writer) error {
			for range 5 {
				if _, err := w.Write(make([]byte, 100_000)); err != nil {
					return err
				}
				time.Sleep(100 * time.Millisecond) // a disk that is slow
			}
			return nil
		}
	})
	server := httptest.NewUnstartedServer(s)
	server.Config.WriteTimeout = 200 * time.Millisecond
	server.Start()
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/v1/backup")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 500_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestMetricsAndTheClusterAreTheOperators(t *testing.T) {
	serve(t).do("GET", "/metrics", "").problem(501, "unsupported", "")
	serve(t).do("GET", "/v1/live", "").problem(501, "unsupported", "")
	s := serve(t, func(c *api.Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	if r := s.do("GET", "/metrics", "").want(200, nil); string(r.body) != "up 1\n" {
		t.Errorf("%s", r.body)
	}
	var c wire.Cluster
	s.do("GET", "/v1/cluster", "").want(200, &c)
	if len(c.Nodes) != 1 || c.Nodes[0].Version != "test" || !c.Nodes[0].Ready || c.Durability != "memory" || c.Secured {
		t.Errorf("%+v", c)
	}
	s.Stop()
	operator := s.token("*", task.ScopeRead)
	s.do("GET", "/v1/cluster", "", operator).want(200, &c)
	if c.Nodes[0].Ready || !c.Secured {
		t.Errorf("%+v", c)
	}
}

func TestEveryAnswerIsObserved(t *testing.T) {
	var seen []string
	s := serve(t, func(c *api.Config) {
		c.Observe = func(route, method string, status int, d time.Duration) {
			if d < 0 || d > time.Minute {
				t.Errorf("took %v", d)
			}
			seen = append(seen, fmt.Sprint(method, " ", route, " ", status))
		}
		c.Backup = func(context.Context, io.Writer) error { panic("ouch") }
	})
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/v1/tasks", hour, "POST /v1/tasks 201"},
		{"GET", "/v1/tasks/a", "", "GET /v1/tasks/{name} 200"},
		{"HEAD", "/v1/tasks/a", "", "HEAD /v1/tasks/{name} 200"},
		{"GET", "/v1/tasks/b", "", "GET /v1/tasks/{name} 404"},
		{"GET", "/openapi.json", "", "GET /openapi.json 200"},
		{"GET", "/", "", "GET /{$} 200"},
		{"GET", "/some/thing", "", "GET other 404"},
		{"PUT", "/v1/tasks", "", "PUT other 405"},
		{"INVENTED", "/v1/tasks", "", "other other 405"},
		{"GET", "/v1//tasks", "", "GET other 404"},
		{"GET", "/v1/backup", "", "GET /v1/backup 500"},
	} {
		seen = nil
		if s.do(c.method, c.target, c.body); len(seen) != 1 || seen[0] != c.want {
			t.Errorf("%s %s: observed %q, want %q", c.method, c.target, seen, c.want)
		}
	}
}
