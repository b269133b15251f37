package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
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
	s.do("DELETE", "/v1/tokens/"+made.ID+"?force=true", "", "Authorization: Bearer "+made.Token).want(200, nil)
	s.do("GET", "/v1/tasks", "").problem(401, "token_required", "Authorization")
}

// gathering is a store that delays edits until a given number of them has
// arrived.
type gathering struct {
	*memstore.Store
	awaited sync.WaitGroup
}

func (g *gathering) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	g.awaited.Done()
	g.awaited.Wait()
	return g.Store.Configure(ctx, now, edits)
}

// TestOfTenFirstTokensOneIsMade sends ten requests. All are accepted while
// there is no token.
func TestOfTenFirstTokensOneIsMade(t *testing.T) {
	store := &gathering{Store: memstore.New(memstore.Config{})}
	store.awaited.Add(10)
	s := &service{T: t, Server: api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store), store: store.Store}
	replies := make(chan reply)
	for range 10 {
		go func() { replies <- s.do("POST", "/v1/tokens", `{"scope": "admin", "namespace": "*"}`) }()
	}
	made := 0
	for range 10 {
		if r := <-replies; r.status == 201 {
			made++
		} else {
			r.problem(401, "token_required", "")
		}
	}
	if kept := len(s.store.Standing().Settings.List(settings.TokenKind, "")); made != 1 || kept != 1 {
		t.Errorf("%d first tokens were answered, %d are kept, want 1", made, kept)
	}
}

func TestTheLastTokenThatManagesTheServerIsNotRevokedByAccident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		operator := ""
		add := func(spec string) string {
			var made wire.Token
			var headers []string
			if operator != "" {
				headers = append(headers, operator)
			}
			s.do("POST", "/v1/tokens", spec, headers...).want(201, &made)
			if operator == "" {
				operator = "Authorization: Bearer " + made.Token
			}
			return "/v1/tokens/" + made.ID
		}
		last := add(`{"namespace": "*", "scope": "admin"}`)
		add(`{"namespace": "*", "scope": "write"}`)
		add(`{"namespace": "default", "scope": "admin"}`)
		revoked := add(`{"namespace": "*", "scope": "admin"}`)
		add(`{"namespace": "*", "scope": "admin", "expires_in": "1h"}`)
		time.Sleep(time.Hour)
		s.do("DELETE", revoked, "", operator).want(200, nil)
		s.do("DELETE", revoked, "", operator).want(200, nil) // again
		for _, query := range []string{"", "?force=false"} {
			s.do("DELETE", last+query, "", operator).problem(409, "last_admin_token", "")
		}
		s.do("DELETE", last+"?force=yes", "", operator).problem(400, "bad_parameter", "force")
		s.do("DELETE", last+"?force=true", "", operator).want(200, nil)
		s.do("GET", "/v1/tasks", "", operator).problem(401, "token_invalid", "Authorization")
	})
}

// makeToken creates a token by the API with the token by, or without one if by
// is "".
func (s *service) makeToken(by, spec string) (made wire.Token) {
	s.Helper()
	var headers []string
	if by != "" {
		headers = []string{"Authorization: Bearer " + by}
	}
	s.do("POST", "/v1/tokens", spec, headers...).want(201, &made)
	return made
}

// TestADescendantEndsWithItsParentOnRequest, and not before: a token can be
// replaced without ending the tokens that it created.
func TestADescendantEndsWithItsParentOnRequest(t *testing.T) {
	s := serve(t)
	status := func(token wire.Token) int {
		return s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+token.Token).status
	}
	root := s.makeToken("", `{"namespace": "*", "scope": "admin"}`)
	other := s.makeToken(root.Token, `{"namespace": "*", "scope": "admin"}`)
	s.do("PUT", "/v1/namespaces/acme", `{}`, "Authorization: Bearer "+root.Token).want(201, nil)
	admin := s.makeToken(root.Token, `{"namespace": "acme", "scope": "admin", "expires_in": "1h"}`)
	child := s.makeToken(admin.Token, `{"scope": "admin"}`)
	grandchild := s.makeToken(child.Token, `{"scope": "read", "expires_in": "30m"}`)
	if child.Parent != admin.ID || child.ExpiresAt != admin.ExpiresAt || grandchild.Parent != child.ID || root.Parent != "" {
		t.Errorf("child %+v, grandchild %+v", child, grandchild)
	}
	s.do("POST", "/v1/tokens", `{"scope": "read", "expires_in": "61m"}`, "Authorization: Bearer "+child.Token).problem(400, "out_of_range", "expires_at")

	gone := decoded[wire.Token](s.do("DELETE", "/v1/tokens/"+admin.ID, "", "Authorization: Bearer "+root.Token), 200)
	if gone.ActiveChildren != 2 || status(admin) != 401 || status(child) != 200 || status(grandchild) != 200 {
		t.Errorf("replaced: %+v, then %d, %d, %d", gone, status(admin), status(child), status(grandchild))
	}
	s.do("DELETE", "/v1/tokens/"+admin.ID+"?children=maybe", "", "Authorization: Bearer "+root.Token).problem(400, "bad_parameter", "children")
	ended := decoded[wire.Token](s.do("DELETE", "/v1/tokens/"+admin.ID+"?children=true", "", "Authorization: Bearer "+root.Token), 200)
	if ended.ActiveChildren != 0 || status(child) != 401 || status(grandchild) != 401 || status(other) != 200 {
		t.Errorf("leaked: %+v, then %d, %d, %d", ended, status(child), status(grandchild), status(other))
	}
	log := decoded[api.AuditList](s.do("GET", "/v1/audit?action=token.revoke", "", "Authorization: Bearer "+root.Token, "Foliot-Namespace: acme"), 200)
	if len(log.Entries) != 3 || log.Entries[0].Target != grandchild.ID || log.Entries[0].By != "token:"+root.ID {
		t.Errorf("the audit log: %+v", log.Entries)
	}
	// Try all tokens that can manage the server: no accident revokes the last one,
	// not even by itself.
	s.do("DELETE", "/v1/tokens/"+root.ID+"?children=true", "", "Authorization: Bearer "+other.Token).problem(409, "last_admin_token", "")
	s.do("DELETE", "/v1/tokens/"+root.ID+"?children=true&force=true", "", "Authorization: Bearer "+other.Token).want(200, nil)
	if status(root) != 401 || status(other) != 401 {
		t.Errorf("then %d, %d", status(root), status(other))
	}
}

func TestATokenIsShownOnce(t *testing.T) {
	s := serve(t)
	operator := s.token("*", settings.ScopeAdmin)
	made := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"scope": "write", "label": "shop"}`, operator), 201)
	hash, _ := settings.HashToken(made.Token)
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
	operator, admin := s.token("*", settings.ScopeAdmin), s.token("default", settings.ScopeAdmin)
	for body, want := range map[string]string{
		`{}`: "400 required scope", `{"scope": "root"}`: "400 bad_scope scope", `{"scope": 1}`: "400 wrong_type scope", `{"scope": "read", "namespace": "a b"}`: "400 bad_name namespace",
		`{"scope": "read", "namespace": "missing"}`: "404 unknown_namespace ", `{"scope": "read", "expires_in": "0s"}`: "400 out_of_range expires_in",
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
	// An admin of a namespace creates tokens only for that namespace.
	s.namespace("other")
	for _, namespace := range []string{"other", "*", "missing"} {
		s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "`+namespace+`"}`, admin).problem(403, "wrong_namespace", "namespace")
	}
	s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "default"}`, admin).want(201, nil)
	s.do("POST", "/v1/tokens", `{"scope": "read", "namespace": "other"}`, operator).want(201, nil)
}

func TestASecretIsRotatedWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		signing := func() (secrets []string) {
			for _, secret := range s.store.Standing().Settings.Secrets("default", "", task.CeilMillis(time.Now())) {
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
		var list api.SecretList
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

func TestASecretOfAQueueIsMadeListedAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		var all, first, second wire.Secret
		s.do("POST", "/v1/secrets", "").want(201, &all)
		s.do("POST", "/v1/secrets", `{"queue": "billing", "overlap": "1h"}`).want(201, &first)
		time.Sleep(time.Second)
		s.do("POST", "/v1/secrets", `{"queue": "billing", "overlap": "1h"}`).want(201, &second)
		s.do("POST", "/v1/secrets", `{"queue": "billing"}`).problem(409, "busy", "")
		if first.Queue != "billing" || first.NamespaceSignsUntil == "" || !strings.HasPrefix(first.Secret, "whsec_") {
			t.Errorf("%+v", first)
		}
		var list api.SecretList
		r := s.do("GET", "/v1/secrets", "").want(200, &list)
		if len(list.Secrets) != 3 || list.Secrets[0].ID != all.ID || list.Secrets[0].Queue != "" || list.Secrets[1].ID != second.ID || list.Secrets[2].ID != first.ID || strings.Contains(string(r.body), "whsec_") {
			t.Errorf("%s", r.body)
		}
		gone := decoded[wire.Secret](s.do("DELETE", "/v1/secrets/"+second.ID, ""), 200)
		s.do("DELETE", "/v1/secrets/"+second.ID, "").problem(404, "not_found", "")
		if live := s.store.Standing().Settings.Secrets("default", "billing", 0); gone.Queue != "billing" || len(live) != 2 || live[0].ID != first.ID || live[1].ID != all.ID {
			t.Errorf("%+v, signing %d", gone, len(live))
		}
		for _, name := range []string{"", "a/b", "@x"} {
			s.do("POST", "/v1/secrets", `{"queue": "`+name+`"}`).problem(400, "bad_name", "queue")
		}
		if log := s.do("GET", "/v1/audit", "").want(200, nil); strings.Count(string(log.body), "of the queue billing") != 3 {
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

func TestANamespaceIsNeverDeletedWithATaskInIt(t *testing.T) {
	s := serve(t)
	for i := range 60 {
		name := fmt.Sprint("space", i)
		s.do("PUT", "/v1/namespaces/"+name, "{}").want(201, nil)
		var made, gone int
		var both sync.WaitGroup
		both.Go(func() { made = s.do("POST", "/v1/tasks", hour, "Foliot-Namespace: "+name).status })
		both.Go(func() { gone = s.do("DELETE", "/v1/namespaces/"+name, "").status })
		both.Wait()
		if (made != 201 || gone != 409) && (made != 404 || gone != 200) {
			t.Fatalf("round %d: the create was answered %d, the DELETE %d", i, made, gone)
		}
	}
}

func TestANamespaceIsMadeAndRemovedByOperators(t *testing.T) {
	s := serve(t)
	n := decoded[wire.Namespace](s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 2, "max_bytes": 1000, "create_rate": 0.5, "create_burst": 3}`, "If-None-Match: *"), 201)
	if n.MaxPending != 2 || n.MaxBytes != 1000 || n.CreateRate != 0.5 || n.CreateBurst != 3 || n.Version != 1 {
		t.Errorf("%+v", n)
	}
	list := decoded[api.NamespaceList](s.do("GET", "/v1/namespaces", ""), 200)
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
	if q := s.store.Standing().Settings.Queue("acme", "q"); q.Version != 0 {
		t.Errorf("its queue is left: %+v", q)
	}
	s.do("PUT", "/v1/namespaces/a@b", `{}`).problem(400, "bad_name", "namespace")
	s.do("PUT", "/v1/namespaces/b", `{"max_pending": -1}`).problem(400, "out_of_range", "max_pending")
	s.do("PUT", "/v1/namespaces/b", `{"max": 1}`).problem(400, "unknown_field", "max")
	s.do("PUT", "/v1/namespaces/b", `{}`, "If-Match: *").problem(412, "precondition_failed", "")
}
