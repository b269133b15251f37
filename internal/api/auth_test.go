package api_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// configure applies edits in the store.
func (s *service) configure(edits ...settings.Edit) {
	s.Helper()
	replies, err := s.store.Configure(s.Context(), task.CeilMillis(time.Now()), edits)
	fatal.If(s, err)
	for _, r := range replies {
		if r.Err != nil {
			s.Fatal(r.Err)
		}
	}
}

// token creates a token and returns the header with it.
func (s *service) token(namespace string, scope settings.Scope) string {
	s.Helper()
	token, hash := settings.MintToken()
	s.configure(settings.AddToken{Namespace: namespace, Scope: scope, Hash: hash})
	return "Authorization: Bearer " + token
}

// namespace creates a namespace.
func (s *service) namespace(name string) {
	s.Helper()
	s.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: name}})
}

// access has the required scope of each route. It repeats the scopes here, so
// that a change by accident fails the test.
var access = map[string]string{
	"POST /v1/tasks":              "write",
	"POST /v1/tasks/batch":        "write",
	"PUT /v1/tasks/{name}":        "write",
	"POST /v1/publish":            "write",
	"GET /v1/tasks/{name}":        "read",
	"PATCH /v1/tasks/{name}":      "write",
	"POST /v1/tasks/{name}/touch": "write",
	"POST /v1/tasks/{name}/run":   "write",
	"POST /v1/tasks/{name}/retry": "write",
	"DELETE /v1/tasks/{name}":     "write",
	"POST /v1/schedules/preview":  "read",
	"POST /v1/tasks/move":         "write",
	"GET /v1/tasks":               "read",
	"POST /v1/tasks/cancel":       "write",
	"POST /v1/tasks/retry":        "write",

	"GET /v1/schedules":                  "read",
	"GET /v1/schedules/{name}":           "read",
	"PUT /v1/schedules/{name}":           "write",
	"DELETE /v1/schedules/{name}":        "write",
	"POST /v1/schedules/{name}/pause":    "write",
	"POST /v1/schedules/{name}/resume":   "write",
	"POST /v1/schedules/{name}/trigger":  "write",
	"POST /v1/schedules/{name}/backfill": "write",
	"GET /v1/schedules/{name}/preview":   "read",

	"GET /v1/queues":                 "read",
	"GET /v1/queues/{queue}":         "read",
	"PUT /v1/queues/{queue}":         "admin",
	"DELETE /v1/queues/{queue}":      "admin",
	"POST /v1/queues/{queue}/pause":  "admin",
	"POST /v1/queues/{queue}/resume": "admin",
	"POST /v1/queues/{queue}/purge":  "admin",

	"GET /v1/tokens":          "admin",
	"POST /v1/tokens":         "admin",
	"DELETE /v1/tokens/{id}":  "admin",
	"GET /v1/secrets":         "admin",
	"POST /v1/secrets":        "admin",
	"DELETE /v1/secrets/{id}": "admin",
	"GET /v1/audit":           "admin",
	"GET /v1/live":            "read",
	"GET /v1/due":             "read",

	"GET /v1/namespaces":           "read operator",
	"GET /v1/namespaces/{name}":    "read operator",
	"PUT /v1/namespaces/{name}":    "admin operator",
	"DELETE /v1/namespaces/{name}": "admin operator",
	"GET /v1/cluster":              "read operator",
	"GET /v1/cluster/shards":       "read operator",
	"GET /v1/cluster/store":        "read operator",

	"POST /v1/cluster/nodes/{node}/drain":   "admin operator",
	"DELETE /v1/cluster/nodes/{node}/drain": "admin operator",

	"GET /v1/whoami":   "read",
	"GET /v1/history":  "read",
	"GET /v1/attempts": "read",
	"GET /v1/upcoming": "read",

	"GET /v1/backup": "admin operator",
	"GET /v1/egress": "read operator",
	"GET /metrics":   "read operator",

	"GET /healthz":      "",
	"GET /readyz":       "",
	"GET /openapi.json": "",
}

func TestEveryRouteHasAScope(t *testing.T) {
	doc, _ := openAPI(t)
	seen := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			route := strings.ToUpper(method) + " " + path
			seen[route] = true
			want, listed := access[route]
			if !listed {
				t.Errorf("%s is not in the table of this test", route)
			}
			got := ""
			for _, requirement := range op.Security {
				for scheme, roles := range requirement {
					if doc.Components.SecuritySchemes[scheme] == nil {
						t.Errorf("%s: no scheme %s", route, scheme)
					}
					got += strings.Join(roles, " ")
				}
			}
			if got != want {
				t.Errorf("%s: OpenAPI says %q, want %q", route, got, want)
			}
		}
	}
	for route := range access {
		if !seen[route] {
			t.Errorf("%s is not described", route)
		}
	}
}

// Each kind of caller calls each route.
func TestEveryRouteRequiresAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // some requests wait
		s := serve(t)
		s.namespace("acme")
		s.namespace("other")
		callers := map[string]string{"no token": ""}
		for _, namespace := range []string{"acme", "*"} {
			for scope := settings.ScopeRead; scope <= settings.ScopeAdmin; scope++ {
				callers[namespace+" "+scope.String()] = s.token(namespace, scope)
			}
		}
		for _, route := range slices.Sorted(maps.Keys(access)) {
			wants, operator := strings.CutSuffix(access[route], " operator")
			method, path, _ := strings.Cut(route, " ")
			for caller, header := range callers {
				namespace, has, _ := strings.Cut(caller, " ")
				want := "let in"
				switch {
				case wants == "":
				case caller == "no token":
					want = "token_required"
				case operator && namespace != "*":
					want = "operator_only"
				case order(has) < order(wants):
					want = "insufficient_scope"
				}
				s.expect(want, method, path, header)
				if namespace != "acme" || want != "let in" || wants == "" {
					continue
				}
				s.expect("let in", method, path, header, "Foliot-Namespace: acme")
				for _, foreign := range []string{"other", "default", "none", "*", ""} {
					s.expect("wrong_namespace", method, path, header, "Foliot-Namespace: "+foreign)
				}
			}
		}
	})
}

func order(scope string) int { return slices.Index([]string{"read", "write", "admin"}, scope) }

// expect sends a request and checks the code of its refusal. Any other reply
// counts as "let in".
func (s *service) expect(want, method, path string, headers ...string) {
	s.Helper()
	headers = slices.DeleteFunc(headers, func(h string) bool { return h == "" })
	r := s.do(method, inPath.ReplaceAllString(path, "none"), "", headers...)
	got := "let in"
	for _, code := range []string{"token_required", "token_malformed", "token_invalid", "too_many_logins", "operator_only", "insufficient_scope", "wrong_namespace"} {
		if strings.Contains(string(r.body), `"code":"`+code+`"`) {
			got = code
		}
	}
	if got != want {
		s.Errorf("%s %s with %q: %s, want %s (%d %s)", method, path, headers, got, want, r.status, r.body)
	}
	if challenged := r.header.Get("WWW-Authenticate") != ""; challenged != (r.status == 401 || got == "insufficient_scope") {
		s.Errorf("%s %s: %d with WWW-Authenticate %q", method, path, r.status, r.header.Get("WWW-Authenticate"))
	}
}

func TestNoRequestNeedsATokenBeforeTheFirstExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // some requests wait
		s := serve(t)
		for route := range access {
			method, path, _ := strings.Cut(route, " ")
			s.expect("let in", method, path)
			s.expect("let in", method, path, "Authorization: Bearer anything")
		}
	})
}

func TestAnInvalidTokenIsRefused(t *testing.T) {
	s := serve(t, func(c *api.Config) { c.ClientAddr = eachItsOwn() })
	good := strings.TrimPrefix(s.token("default", settings.ScopeRead), "Authorization: ")
	token := strings.TrimPrefix(good, "Bearer ")
	unknown, _ := settings.MintToken()
	for value, want := range map[string]string{
		good: "let in", "bearer " + token: "let in", "BEARER  " + token + " ": "let in",
		"": "token_malformed", "Bearer": "token_malformed", "Bearer ": "token_malformed", token: "token_malformed", "Basic " + token: "token_malformed",
		"Bearer " + token + "x": "token_malformed", "Bearer " + token[:len(token)-1]: "token_malformed", "Bearer " + strings.ToUpper(token): "token_malformed",
		"Bearer\t" + token: "token_malformed", "Bearer " + token + "," + token: "token_malformed", "Bearer foliot_": "token_malformed",
		"Bearer " + strings.Repeat("a", 60_000): "token_malformed", "Bearer " + unknown: "token_invalid",
	} {
		r := httptest.NewRequest("GET", "/v1/tasks", nil)
		r.Host = "localhost"
		r.Header["Authorization"] = []string{value}
		got := s.send(r)
		if want == "let in" {
			got.want(200, nil)
			continue
		}
		got.problem(401, want, "Authorization")
		if strings.Contains(string(got.body), token) {
			t.Errorf("the reply repeats the token: %s", got.body)
		}
	}
	r := httptest.NewRequest("GET", "/v1/tasks", nil)
	r.Host = "localhost"
	r.Header["Authorization"] = []string{good, good}
	s.send(r).problem(401, "token_malformed", "Authorization")
}

func TestExpiredRevokedAndUnknownTokensLookTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, func(c *api.Config) { c.ClientAddr = eachItsOwn() })
		operator := s.token("*", settings.ScopeAdmin)
		short := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"scope": "read", "expires_in": "10m"}`, operator), 201)
		revoked := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"scope": "read"}`, operator), 201)
		unknown, _ := settings.MintToken()
		s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+short.Token).want(200, nil)
		time.Sleep(10*time.Minute - time.Second)
		s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+short.Token).want(200, nil)
		time.Sleep(time.Second)
		var r wire.Token
		if s.do("DELETE", "/v1/tokens/"+revoked.ID, "", operator).want(200, &r); r.State != "revoked" || r.RevokedAt == "" || r.Token != "" {
			t.Errorf("revoked: %+v", r)
		}
		var replies []string
		for _, token := range []string{short.Token, revoked.Token, unknown} {
			got := s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+token)
			got.problem(401, "token_invalid", "Authorization")
			replies = append(replies, fmt.Sprint(got.header, string(got.body)))
		}
		if replies[0] != replies[1] || replies[1] != replies[2] {
			t.Errorf("their replies differ: %q", replies)
		}
	})
}

// A long poll does not outlive its token.
func TestARevokedTokenWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.do("POST", "/v1/tasks", hour).want(201, nil)
		anonymous, token := make(chan reply), make(chan reply)
		began := time.Now()
		go func() { anonymous <- s.do("GET", "/v1/tasks/a?wait=5m", "") }()
		time.Sleep(10 * time.Second)
		operator := s.token("*", settings.ScopeAdmin)
		(<-anonymous).problem(401, "token_required", "Authorization")
		if d := time.Since(began); d > 11*time.Second {
			t.Errorf("a request without a token waited for %v", d)
		}
		made := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"scope": "read"}`, operator), 201)
		go func() { token <- s.do("GET", "/v1/tasks/a?wait=5m", "", "Authorization: Bearer "+made.Token) }()
		time.Sleep(10 * time.Second)
		began = time.Now()
		s.do("DELETE", "/v1/tokens/"+made.ID, "", operator).want(200, nil)
		(<-token).problem(401, "token_invalid", "Authorization")
		if d := time.Since(began); d > time.Second {
			t.Errorf("a request waited for %v after its token was revoked", d)
		}
	})
}

// Otherwise a client could keep a request open, and use it to create a new
// token after its own is revoked.
func TestABodyAfterTheEndOfItsTokenChangesNothing(t *testing.T) {
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/tokens", `{"namespace": "*", "scope": "admin"}`},
		{"POST", "/v1/secrets", `{"overlap": "1h"}`},
		{"PUT", "/v1/namespaces/mine", `{}`},
		{"PUT", "/v1/queues/q", `{"rate": 1}`},
		{"POST", "/v1/queues/q/pause", `{"for": "1h"}`},
		{"POST", "/v1/tasks", hour},
		{"PUT", "/v1/tasks/a", hour},
		{"POST", "/v1/tasks/batch", `{"tasks": [` + hour + `]}`},
		{"POST", "/v1/tasks/batch", `{"calls": [{"create": ` + hour + `}]}`},
		{"POST", "/v1/publish?url=http://localhost/", "x"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := serve(t)
			// A request without a token was accepted before there was a token.
			operator := ""
			s.late(c.method, c.path, c.body, func() { operator = s.token("*", settings.ScopeAdmin) }).problem(401, "token_required", "Authorization")
			// A token was revoked during the request.
			made := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"namespace": "*", "scope": "admin"}`, operator), 201)
			s.late(c.method, c.path, c.body, func() { s.do("DELETE", "/v1/tokens/"+made.ID, "", operator).want(200, nil) },
				"Authorization: Bearer "+made.Token).problem(401, "token_invalid", "Authorization")
			log := decoded[api.AuditList](s.do("GET", "/v1/audit", "", operator), 200)
			if tasks := s.all(); len(log.Entries) != 3 || len(tasks) != 0 { // two tokens, and the end of one
				t.Errorf("something was done: %+v, %+v", log.Entries, tasks)
			}
		})
	}
}

// late sends a request, and calls a function while the body is read.
func (s *service) late(method, path, body string, happens func(), headers ...string) reply {
	s.Helper()
	r := httptest.NewRequest(method, path, io.MultiReader(during(happens), strings.NewReader(body)))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return s.send(r)
}

// during is an empty reader that calls a function at its end.
type during func()

func (d during) Read([]byte) (int, error) {
	d()
	return 0, io.EOF
}

// The body of an unauthenticated client is not read: it may be large, or never
// arrive.
func TestARequestWithoutATokenIsRefusedBeforeItsBody(t *testing.T) {
	s := serve(t)
	s.token("*", settings.ScopeAdmin)
	r := httptest.NewRequest("POST", "/v1/tasks", unreadable{t})
	r.Host, r.ContentLength = "localhost", 1<<40
	r.Header.Set("Content-Type", "application/json")
	got := s.send(r)
	got.problem(401, "token_required", "Authorization")
	if got.header.Get("Connection") != "close" {
		t.Error("the connection stays open: net/http reads the body to get to the next request")
	}
	// No other part of it is checked either.
	s.do("GET", "/v1/tasks?nonsense=1&limit=0", "").problem(401, "token_required", "Authorization")
}

type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, http.ErrBodyReadAfterClose
}

func TestAnOperatorNamesTheNamespace(t *testing.T) {
	for _, secured := range []bool{false, true} {
		s := serve(t)
		s.namespace("acme")
		headers := []string{}
		if secured {
			headers = append(headers, s.token("*", settings.ScopeAdmin))
		}
		in := func(namespace string) []string { return append(slices.Clone(headers), "Foliot-Namespace: "+namespace) }
		s.do("POST", "/v1/tasks", hour, in("acme")...).want(201, nil)
		s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "x", append(in("acme"), "Foliot-Name: p")...).want(201, nil)
		s.do("GET", "/v1/tasks/a", "", in("acme")...).want(200, nil)
		s.do("GET", "/v1/tasks/p", "", in("acme")...).want(200, nil)
		s.do("GET", "/v1/tasks/a", "", headers...).problem(404, "not_found", "")
		s.do("GET", "/v1/tasks/a", "", in("default")...).problem(404, "not_found", "")
		s.do("GET", "/v1/tasks/a", "", in("missing")...).problem(404, "unknown_namespace", "Foliot-Namespace")
		s.do("GET", "/v1/tasks/a", "", in("a/b")...).problem(400, "bad_name", "Foliot-Namespace")
		s.do("GET", "/v1/tasks/a", "", in("*")...).problem(400, "bad_name", "Foliot-Namespace")
		s.do("GET", "/v1/tasks/a", "", append(in("acme"), "Foliot-Namespace: acme")...).problem(400, "repeated_parameter", "Foliot-Namespace")
	}
}

func TestTheLastUseOfTokensIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		used, unused := s.token("default", settings.ScopeRead), s.token("default", settings.ScopeRead)
		if edits := s.TokenUses(); len(edits) != 0 {
			t.Errorf("uses without a token: %v", edits)
		}
		for range 3 {
			time.Sleep(time.Second)
			s.do("GET", "/v1/tasks", "", used).want(200, nil)
		}
		at := task.CeilMillis(time.Now())
		edits := s.TokenUses()
		if len(edits) != 1 || edits[0].(settings.UseToken).At != at {
			t.Fatalf("uses %+v, want one at %d", edits, at)
		}
		if again := s.TokenUses(); len(again) != 0 {
			t.Errorf("reported twice: %v", again)
		}
		s.configure(edits...)
		list := decoded[api.TokenList](s.do("GET", "/v1/tokens", "", s.token("*", settings.ScopeAdmin)), 200)
		shown := 0
		for _, token := range list.Tokens {
			if token.LastUsedAt != "" {
				shown++
			}
		}
		if shown != 1 {
			t.Errorf("%+v", list)
		}
		_ = unused
	})
}

func TestARecordAndTheAuditLogNameTheToken(t *testing.T) {
	s := serve(t)
	made := s.do("POST", "/v1/tasks", hour).task(201)
	shop := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"namespace": "*", "scope": "admin", "label": "shop, production"}`), 201)
	token, author := "Authorization: Bearer "+shop.Token, "token:"+shop.ID+" shop, production"
	patched := s.do("PATCH", "/v1/tasks/a", `{"priority": "low"}`, token, "Content-Type: application/merge-patch+json").task(200)
	if made.CreatedBy != "" || made.ChangedAt != "" || patched.CreatedBy != "" || patched.ChangedBy != author || patched.ChangedAction != "task.patch" || patched.ChangedAt == "" {
		t.Errorf("made %+v, then %+v", made.Authors, patched.Authors)
	}
	s.do("PUT", "/v1/schedules/s", hourly, token).want(201, nil)
	schedule := decoded[wire.Schedule](s.do("POST", "/v1/schedules/s/pause", "", token), 200)
	if schedule.CreatedBy != author || schedule.ChangedBy != author || schedule.ChangedAction != "schedule.pause" {
		t.Errorf("the schedule: %+v", schedule.Authors)
	}
	s.do("DELETE", "/v1/tasks/a", "", token, "User-Agent: foliot/v1").want(200, nil)
	for _, by := range []string{"token:" + shop.ID, author} {
		page, err := s.store.Audit(t.Context(), settings.AuditFilter{By: by}, 0, 10)
		if err != nil || len(page.Entries) != 1 {
			t.Fatal(err, page)
		}
		if e := page.Entries[0]; e.By != author || e.Addr != "192.0.2.1" || e.Action != "task.cancel" || e.Target != "a" || e.ID != made.ID || e.Detail != "from the command line" {
			t.Errorf("%+v", e)
		}
	}
	if got := settings.NewSettings().Author(shop.ID); got != "token:"+shop.ID {
		t.Errorf("a token that was removed is %q", got)
	}
}

func TestACallerLearnsItsRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		whoami := func(headers ...string) (me wire.Identity) {
			s.do("GET", "/v1/whoami", "", headers...).want(200, &me)
			return me
		}
		open := whoami()
		if open.Namespace != "default" || open.Scope != "admin" || !open.Operator || open.Secured || open.Token != nil {
			t.Errorf("a server without tokens: %+v", open)
		}
		if open.Version != "test" || open.Store != "embedded" || open.Durability != "memory" || open.Node != "" || open.Now != wire.FormatTime(time.Now()) {
			t.Errorf("the server: %+v", open)
		}
		s.namespace("acme")
		operator := s.token("*", settings.ScopeRead)
		if me := whoami(operator, "Foliot-Namespace: acme"); me.Namespace != "acme" || me.Scope != "read" || !me.Operator || !me.Secured {
			t.Errorf("an operator: %+v", me)
		}
		me := whoami(s.token("acme", settings.ScopeWrite))
		if me.Namespace != "acme" || me.Scope != "write" || me.Operator || !me.Secured {
			t.Errorf("a namespace's token: %+v", me)
		}
		if me.Token == nil || me.Token.Namespace != "acme" || me.Token.Scope != "write" || me.Token.Token != "" || me.Token.State != "active" {
			t.Errorf("the token's record: %+v", me.Token)
		}
	})
}
