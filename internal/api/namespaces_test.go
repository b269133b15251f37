package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// A town is a server with two namespaces. The first one may be empty or not.
// The second one must see no difference.
type town struct {
	*service
	spy    *spy
	bob    string // an admin token of the second
	alice  string // a token of the first; "" if it is empty
	cursor string // of a list of the first
	log    string // of its audit log
	id     string // the id of a token of the first
	secret string // the id of a secret of the first
}

// spy is a store that records the namespaces of its calls.
type spy struct {
	*memstore.Store
	mu    sync.Mutex // guards asked
	asked map[string]bool
}

func (s *spy) ask(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[namespace] = true
}

func (s *spy) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	for _, st := range steps {
		s.ask(st.Key.Namespace)
	}
	return s.Store.Transit(ctx, now, steps)
}

func (s *spy) Get(ctx context.Context, key task.Key) (*task.Task, error) {
	s.ask(key.Namespace)
	return s.Store.Get(ctx, key)
}

func (s *spy) List(ctx context.Context, f task.Filter, page task.Page) (task.Listing, error) {
	s.ask(f.Namespace)
	return s.Store.List(ctx, f, page)
}

func (s *spy) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	s.ask(f.Namespace)
	return s.Store.Audit(ctx, f, before, limit)
}

func (s *spy) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	for _, e := range edits {
		if n, ok := e.(settings.Note); ok {
			s.ask(n[0].Namespace)
			continue
		}
		s.ask(e.Target().Namespace)
	}
	return s.Store.Configure(ctx, now, edits)
}

// settle builds a town. alice reports whether the first namespace has any
// content.
func settle(t *testing.T, alice bool) *town {
	store := &spy{Store: memstore.New(memstore.Config{}), asked: map[string]bool{}}
	live := func() wire.Live {
		l := wire.Live{At: "2030-01-01T00:00:00.000Z", Running: 1, Slots: 10, Late: &wire.Lateness{}, Attempts: &wire.AttemptTotals{Delivered: 7}}
		if alice {
			l.Queues = append(l.Queues, wire.LiveQueue{Namespace: "alice", Queue: "q", Running: 1})
			l.Destinations = append(l.Destinations, wire.LiveDestination{Namespace: "alice", Destination: "alice.example:443", Breaker: "closed"})
		}
		l.Queues = append(l.Queues, wire.LiveQueue{Namespace: "bob", Queue: "q"})
		l.Destinations = append(l.Destinations, wire.LiveDestination{Namespace: "bob", Destination: "bob.example:443", Breaker: "closed"})
		return l
	}
	v := &town{spy: store, service: &service{T: t, store: store.Store, Server: api.New(api.Config{Engine: servertest.Engine{OnLive: live}, Log: slog.New(slog.DiscardHandler)}, store)}}
	v.namespace("alice")
	v.namespace("bob")
	v.bob = v.token("bob", settings.ScopeAdmin)
	v.id = "0123456789abcdef"
	if alice {
		v.furnish()
	}
	for _, name := range []string{"b1", "b2"} {
		v.do("POST", "/v1/tasks", named(name), v.bob).want(201, nil)
	}
	v.do("PUT", "/v1/queues/q", `{"rate": 5}`, v.bob).want(201, nil)
	v.do("PUT", "/v1/schedules/b1", hourly, v.bob).want(201, nil)
	return v
}

func named(name string) string { return strings.Replace(hour, `"a"`, `"`+name+`"`, 1) }

// furnish creates some records of each kind in the first namespace.
func (v *town) furnish() {
	v.alice = v.service.token("alice", settings.ScopeAdmin)
	for i := range 20 {
		v.do("POST", "/v1/tasks", named(fmt.Sprintf("a%02d", i)), v.alice, fmt.Sprintf("Idempotency-Key: k%d", i)).want(201, nil)
	}
	v.do("POST", "/v1/tasks", `{"name": "theirs", "queue": "theirs", "delay": "0s", "http": {"url": "http://example.com/"}, "labels": {"k": "v"}}`, v.alice).want(201, nil)
	v.do("PUT", "/v1/queues/theirs", `{"concurrency": 1}`, v.alice).want(201, nil)
	v.do("POST", "/v1/queues/theirs/pause", "", v.alice).want(200, nil)
	v.do("PUT", "/v1/schedules/theirs", hourly, v.alice).want(201, nil)
	v.do("PUT", "/v1/schedules/a01", hourly, v.alice).want(201, nil)
	v.do("POST", "/v1/schedules/theirs/trigger", "", v.alice, "Idempotency-Key: trigger").want(201, nil)
	list := decoded[api.TaskList](v.do("GET", "/v1/tasks?limit=2", "", v.alice), 200)
	v.cursor = list.NextCursor
	log := decoded[api.AuditList](v.do("GET", "/v1/audit?limit=2", "", v.alice), 200)
	v.log = log.NextCursor
	token := decoded[wire.Token](v.do("POST", "/v1/tokens", `{"scope": "read"}`, v.alice), 201)
	v.id = token.ID
	secret := decoded[wire.Secret](v.do("POST", "/v1/secrets", "", v.alice), 201)
	v.secret = secret.ID
}

// The content of one namespace changes no reply to another, for any name, id,
// cursor, idempotency key, wait, filter or count in the request.
func TestANamespaceIsInvisibleToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // some requests wait
		full, empty := settle(t, true), settle(t, false)
		before := full.holdings("alice")
		covered := map[string]bool{}
		for _, ask := range asks(full) {
			method, target, _ := strings.Cut(ask.target, " ")
			covered[method+" "+ask.path] = true
			full.spy.asked = map[string]bool{}
			headers := append(slices.Clone(ask.headers), full.bob)
			began := time.Now()
			got := full.do(method, target, ask.body, headers...)
			if d := time.Since(began); d > 30*time.Second {
				t.Errorf("%s took %v", ask.target, d)
			}
			for namespace := range full.spy.asked {
				if namespace != "bob" {
					t.Errorf("%s made the server look into namespace %q", ask.target, namespace)
				}
			}
			headers[len(headers)-1] = empty.bob
			want := empty.do(method, target, ask.body, headers...)
			if a, b := plain(got), plain(want); a != b {
				t.Errorf("%s %s\nwith a neighbour:    %s\nwithout a neighbour: %s", ask.target, ask.body, a, b)
			}
		}
		if after := full.holdings("alice"); after != before {
			t.Errorf("the neighbour changed:\n%s\nwas\n%s", after, before)
		}
		for route, takes := range access {
			if takes != "" && !strings.HasSuffix(takes, "operator") && !covered[route] {
				t.Errorf("%s was not asked", route)
			}
		}
	})
}

type ask struct {
	path, target, body string
	headers            []string
}

// asks are requests by which the second namespace may learn about the first.
func asks(v *town) (list []ask) {
	for _, route := range slices.Sorted(maps.Keys(access)) {
		method, path, _ := strings.Cut(route, " ")
		if strings.HasSuffix(access[route], "operator") || access[route] == "" {
			continue
		}
		for _, name := range []string{"theirs", "a01", "none", v.id, v.secret} {
			target := inPath.ReplaceAllString(path, name)
			if target == path && name != "theirs" {
				continue
			}
			body := map[string]string{
				"PUT /v1/tasks/{name}": hour[:1] + hour[len(`{"name": "a", `):], "PATCH /v1/tasks/{name}": `{"timeout": null}`,
				"POST /v1/tasks": named("theirs"), "POST /v1/tasks/batch": `{"tasks": [` + named("a02") + `,` + named("a03") + `]}`,
				"PUT /v1/queues/{queue}": `{"burst": 0}`, "PUT /v1/schedules/{name}": hourly, "POST /v1/schedules/{name}/backfill": `{"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T05:00:00Z"}`,
				"POST /v1/tokens": `{"scope": "read", "namespace": "alice"}`, "POST /v1/secrets": `{"overlap": "1h"}`,
			}[route]
			list = append(list, ask{path: path, target: method + " " + target, body: body})
		}
	}
	return append(list,
		ask{path: "/v1/tasks", target: "GET /v1/tasks?cursor=" + v.cursor},
		ask{path: "/v1/tasks", target: "GET /v1/tasks?label=k=v&limit=1"},
		ask{path: "/v1/tasks", target: "GET /v1/tasks?queue=theirs&state=held"},
		ask{path: "/v1/tasks/{name}", target: "GET /v1/tasks/a02?wait=300ms"}, // by now it belongs to the second
		ask{path: "/v1/tasks/{name}", target: "GET /v1/tasks/a19?wait=1m"},
		ask{path: "/v1/tasks/cancel", target: "POST /v1/tasks/cancel?queue=theirs"},
		ask{path: "/v1/tasks/retry", target: "POST /v1/tasks/retry?all=true"},
		ask{path: "/v1/tasks", target: "POST /v1/tasks", body: named("a05"), headers: []string{"Idempotency-Key: k5"}},
		ask{path: "/v1/tasks", target: "POST /v1/tasks", body: named("x"), headers: []string{"Idempotency-Key: k6"}},
		ask{path: "/v1/publish", target: "POST /v1/publish?url=http%3A%2F%2Fexample.com%2F", body: "x", headers: []string{"Foliot-Name: a07", "Idempotency-Key: k7"}},
		ask{path: "/v1/schedules", target: "GET /v1/schedules?limit=1&label=k=v"},
		ask{path: "/v1/schedules/{name}/preview", target: "GET /v1/schedules/b1/preview?from=2026-01-01T00:00:00Z"},
		ask{path: "/v1/schedules/{name}/trigger", target: "POST /v1/schedules/b1/trigger", headers: []string{"Idempotency-Key: trigger"}},
		ask{path: "/v1/schedules/{name}/backfill", target: "POST /v1/schedules/b1/backfill", body: `{"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T05:00:00Z"}`},
		ask{path: "/v1/tasks", target: "POST /v1/tasks", body: named("x"), headers: []string{"Idempotency-Key: trigger"}},
		ask{path: "/v1/audit", target: "GET /v1/audit?limit=3"},
		ask{path: "/v1/audit", target: "GET /v1/audit?limit=3&cursor=" + v.log},
		ask{path: "/v1/audit", target: "GET /v1/audit?target=theirs"},
		ask{path: "/v1/tokens", target: "POST /v1/tokens", body: `{"scope": "read", "namespace": "missing"}`},
		ask{path: "/v1/tokens", target: "POST /v1/tokens", body: `{"scope": "read", "namespace": "*"}`},
		ask{path: "/v1/tasks/cancel", target: "POST /v1/tasks/cancel?all=true"},
	)
}

// variable matches values that differ between two runs.
var variable = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"\d{13}\.|@\d{13}|foliot_[\w-]{48}|whsec_[\w+/=]+|"id":"[0-9a-f]{16}"|token:[0-9a-f]{16}|"target":"[0-9a-f]{16}"|/tokens/[0-9a-f]{16}|"next_cursor":"[\w-]{22}"`)

func plain(r reply) string {
	return variable.ReplaceAllString(fmt.Sprint(r.status, " ", r.header, " ", string(r.body)), "~")
}

// holdings returns the content of a namespace.
func (s *service) holdings(namespace string) string {
	var b strings.Builder
	for _, queue := range []string{"", task.ScheduleQueue} {
		listing, err := s.store.List(s.Context(), task.Filter{Namespace: namespace, Queue: queue}, task.Page{Limit: 1000})
		fatal.If(s, err)
		for _, t := range listing.Tasks {
			fmt.Fprintf(&b, "%s %s %d %s\n", t.Name, t.ID, t.Version, t.State)
		}
	}
	for kind := settings.QueueKind; kind <= settings.SecretKind; kind++ {
		for _, setting := range s.store.Standing().Settings.List(kind, namespace) {
			fmt.Fprintf(&b, "%+v\n", setting)
		}
	}
	return b.String()
}

// An operator sees all of them, each with its namespace.
func TestAnOperatorSeesEveryNamespace(t *testing.T) {
	v := settle(t, true)
	operator := v.service.token("*", settings.ScopeAdmin)
	tokens := decoded[api.TokenList](v.do("GET", "/v1/tokens", "", operator), 200)
	ours := decoded[api.TokenList](v.do("GET", "/v1/tokens", "", operator, "Foliot-Namespace: alice"), 200)
	if len(tokens.Tokens) != 4 || len(ours.Tokens) != 2 {
		t.Errorf("%d tokens, %d of alice, want 4 and 2", len(tokens.Tokens), len(ours.Tokens))
	}
	log := decoded[api.AuditList](v.do("GET", "/v1/audit?limit=1000", "", operator), 200)
	theirs := decoded[api.AuditList](v.do("GET", "/v1/audit?limit=1000", "", operator, "Foliot-Namespace: bob"), 200)
	seen := map[string]int{}
	for _, e := range log.Entries {
		seen[e.Namespace]++
	}
	if seen["alice"] == 0 || seen["bob"] != len(theirs.Entries) || seen[""] != 2 || seen["*"] != 1 {
		t.Errorf("the log has %v, of bob %d", seen, len(theirs.Entries))
	}
	var live wire.Live
	if v.do("GET", "/v1/live", "", operator).want(200, &live); len(live.Queues) != 2 || len(live.Destinations) != 2 || live.Attempts == nil || live.Slots != 10 {
		t.Errorf("%+v", live)
	}
	live = wire.Live{}
	if v.do("GET", "/v1/live", "", operator, "Foliot-Namespace: bob").want(200, &live); len(live.Queues) != 1 || live.Queues[0].Namespace != "bob" || live.Slots != 10 {
		t.Errorf("%+v", live)
	}
	v.do("DELETE", "/v1/tokens/"+v.id, "", operator, "Foliot-Namespace: bob").problem(404, "not_found", "")
	v.do("DELETE", "/v1/tokens/"+v.id, "", operator).want(200, nil)
}

// A namespace with the name of a deleted one sees none of its records.
func TestARecreatedNamespaceRevealsNothingOfTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		operator := s.token("*", settings.ScopeAdmin)
		const acme = "Foliot-Namespace: acme"
		tenant := func() (id, header string) {
			s.do("PUT", "/v1/namespaces/acme", `{}`, operator).want(201, nil)
			made := decoded[wire.Token](s.do("POST", "/v1/tokens", `{"scope": "admin", "label": "theirs"}`, operator, acme), 201)
			return made.ID, "Authorization: Bearer " + made.Token
		}
		seen := func(headers ...string) (entries, tokens int) {
			log := decoded[api.AuditList](s.do("GET", "/v1/audit?from=1990-01-01T00:00:00Z", "", headers...), 200)
			list := decoded[api.TokenList](s.do("GET", "/v1/tokens", "", headers...), 200)
			return len(log.Entries), len(list.Tokens)
		}
		old, header := tenant()
		s.do("PUT", "/v1/queues/theirs", `{}`, header).want(201, nil)
		if entries, tokens := seen(header); entries != 2 || tokens != 1 {
			t.Errorf("the first sees %d entries, %d tokens", entries, tokens)
		}
		s.do("DELETE", "/v1/tokens/"+old, "", operator).want(200, nil)
		s.do("DELETE", "/v1/namespaces/acme", "", operator).want(200, nil)
		time.Sleep(time.Second)
		_, header = tenant()
		if entries, tokens := seen(header); entries != 1 || tokens != 1 { // the token of the request
			t.Errorf("the second sees %d entries, %d tokens", entries, tokens)
		}
		s.do("DELETE", "/v1/tokens/"+old, "", header).problem(404, "not_found", "")
		if entries, tokens := seen(operator, acme); entries != 4 || tokens != 2 {
			t.Errorf("the operator sees %d entries, %d tokens", entries, tokens)
		}
		own := s.token("default", settings.ScopeAdmin)
		time.Sleep(time.Second)
		s.do("PUT", "/v1/namespaces/default", `{}`, operator).want(201, nil) // it was there all the time
		if entries, tokens := seen(own); entries != 1 || tokens != 1 {
			t.Errorf("of the default namespace %d entries, %d tokens are seen", entries, tokens)
		}
	})
}
