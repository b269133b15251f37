package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

func TestAQuotaOfZeroIsRefusedAndNullSetsNone(t *testing.T) {
	s := serve(t)
	for _, field := range []string{"max_pending", "max_bytes", "create_rate", "change_rate", "read_rate", "edit_rate"} {
		zeros := []string{"0", "-0"}
		if strings.HasSuffix(field, "_rate") {
			zeros = append(zeros, "0.0", "1e-400", "0.0000001")
		}
		for _, zero := range zeros {
			r := s.do("PUT", "/v1/namespaces/acme", fmt.Sprintf(`{%q: %s}`, field, zero))
			r.problem(400, "out_of_range", field)
			if !strings.Contains(string(r.body), "suspend") {
				t.Errorf("%s %s: the refusal does not say how to stop a namespace: %s", field, zero, r.body)
			}
		}
	}
	s.do("GET", "/v1/namespaces/acme", "").problem(404, "unknown_namespace", "")
	n := decoded[wire.Namespace](s.do("PUT", "/v1/namespaces/acme", `{"max_pending": null, "max_bytes": null, "create_rate": null, "change_rate": null, "read_rate": null, "edit_rate": null}`), 201)
	if n.NamespaceInput != (wire.NamespaceInput{}) {
		t.Errorf("%+v", n)
	}
	s.do("POST", "/v1/tasks", hour, "Foliot-Namespace: acme").want(201, nil)
}

func TestTheChangeRateBoundsEveryWayToChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		acme := "Foliot-Namespace: acme"
		for _, quotas := range []string{`{"change_rate": 1}`, `{"create_rate": 1}`} { // without a change_rate, the rate of creates
			s.do("PUT", "/v1/namespaces/acme", `{}`)
			s.do("PUT", "/v1/tasks/a", named("a"), acme)
			s.do("PUT", "/v1/schedules/n", `{"cron": "0 9 * * *", "task": {"http": {"url": "http://example.com/"}}}`, acme)
			s.do("PUT", "/v1/namespaces/acme", quotas).want(200, nil)
			ways := []func() reply{
				func() reply { return s.do("PATCH", "/v1/tasks/a", `{"timeout": "1s"}`, acme) },
				func() reply { return s.do("POST", "/v1/tasks/a/touch", "", acme) },
				func() reply { return s.do("POST", "/v1/tasks/a/run", "", acme) },
				func() reply { return s.do("PUT", "/v1/tasks/a", named("a"), acme) },
				func() reply { return s.do("POST", "/v1/schedules/n/pause", "", acme) },
				func() reply { return s.do("POST", "/v1/schedules/n/resume", "", acme) },
				func() reply {
					return s.do("PUT", "/v1/schedules/n", `{"cron": "0 9 * * *", "task": {"http": {"url": "http://example.com/"}}}`, acme)
				},
				func() reply { return s.do("POST", "/v1/tasks/cancel?all=true", "", acme) },
				func() reply { return s.do("DELETE", "/v1/schedules/n", "", acme) },
			}
			for i, way := range ways {
				time.Sleep(2 * time.Second)
				way().want(200, nil)
				for j, other := range ways {
					if r := other(); r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" {
						t.Errorf("%s: way %d after way %d: %d %s", quotas, j, i, r.status, r.body)
					} else if quotas != `{"create_rate": 1}` {
						r.problem(429, "rate_exceeded", "change_rate")
					}
				}
			}
			s.do("GET", "/v1/tasks", "", acme).want(200, nil)
		}
	})
}

// With an Idempotency-Key, the store checks whether an invalid request is a
// repeat.
func TestAnInvalidRequestWithAKeyTakesACreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		acme := "Foliot-Namespace: acme"
		s.do("PUT", "/v1/namespaces/acme", `{"create_rate": 1}`).want(201, nil)
		const invalid = `{"delay": "1h", "timeout": "1000h", "http": {"url": "http://example.com/"}}`
		for _, way := range []func(header ...string) reply{
			func(header ...string) reply { return s.do("POST", "/v1/tasks", invalid, header...) },
			func(header ...string) reply { return s.do("PUT", "/v1/tasks/a", invalid, header...) },
			func(header ...string) reply {
				return s.do("POST", "/v1/publish?url=http%3A%2F%2Fexample.com%2F", "", append(header, "Foliot-Delay: 2000000h")...)
			},
		} {
			time.Sleep(2 * time.Second)
			for want := range 3 {
				code := 400
				if want > 0 {
					code = http.StatusTooManyRequests
				}
				if r := way(acme, "Idempotency-Key: k"); r.status != code {
					t.Errorf("%d: %s", r.status, r.body)
				}
			}
			if r := way(acme); r.status != 400 {
				t.Errorf("without a key: %d %s", r.status, r.body)
			}
		}
	})
}

// A change by filter is one request with many changes. Later requests wait for
// them, at most a minute.
func TestAChangeByFilterCountsEachTaskThatItChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		acme := "Foliot-Namespace: acme"
		s.do("PUT", "/v1/namespaces/acme", `{"change_rate": 2}`).want(201, nil)
		for i := range 500 {
			s.do("POST", "/v1/tasks", named(fmt.Sprint("t", i)), acme).want(201, nil)
		}
		s.do("POST", "/v1/tasks/cancel?name_prefix=t", "", acme)
		s.do("POST", "/v1/tasks/cancel?all=true", "", acme)
		if r := s.do("POST", "/v1/tasks/cancel?all=true", "", acme); r.status != 429 || r.header.Get("Retry-After") != "61" {
			t.Errorf("%d, Retry-After %s", r.status, r.header.Get("Retry-After"))
		}
	})
}

func TestEditsOfANamespacesOwnTokensHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		operator := s.token(settings.AllNamespaces, settings.ScopeAdmin)
		s.namespace("acme")
		own := s.token("acme", settings.ScopeAdmin)
		edits := []func() reply{
			func() reply { return s.do("PUT", "/v1/queues/q", `{"concurrency": 1}`, own) },
			func() reply { return s.do("POST", "/v1/queues/q/pause", "", own) },
			func() reply { return s.do("POST", "/v1/tokens", `{"scope": "read"}`, own) },
			func() reply { return s.do("DELETE", "/v1/queues/q", "", own) },
		}
		made := 0
		for s.do("POST", "/v1/queues/q/pause", "", own).status < 300 {
			made++
		}
		if made != int(settings.DefaultEdits.Burst) {
			t.Errorf("%d edits at once, want %v", made, settings.DefaultEdits.Burst)
		}
		for _, edit := range edits {
			edit().problem(429, "rate_exceeded", "edit_rate")
		}
		s.do("POST", "/v1/queues/q/pause", "", operator, "Foliot-Namespace: acme").want(200, nil)
		s.do("PUT", "/v1/namespaces/acme", `{"edit_rate": 0.1}`, operator).want(200, nil)
		time.Sleep(time.Hour)
		s.do("POST", "/v1/queues/q/pause", "", own).want(200, nil)
		if r := s.do("POST", "/v1/queues/q/pause", "", own); r.status != 429 || r.header.Get("Retry-After") != "10" {
			t.Errorf("%d, Retry-After %s: %s", r.status, r.header.Get("Retry-After"), r.body)
		}
	})
}

func TestASuspendedNamespaceIsReadAndNothingElse(t *testing.T) {
	s := serve(t)
	operator := s.token(settings.AllNamespaces, settings.ScopeAdmin)
	s.namespace("acme")
	own, acme := s.token("acme", settings.ScopeAdmin), "Foliot-Namespace: acme"
	s.do("POST", "/v1/tasks", named("a"), own).want(201, nil)
	s.do("POST", "/v1/tasks", named("b"), own).want(201, nil)
	s.do("PUT", "/v1/schedules/n", `{"cron": "0 9 * * *", "task": {"http": {"url": "http://example.com/"}}}`, own).want(201, nil)
	s.do("PUT", "/v1/namespaces/acme", `{"suspended": true}`, operator).want(200, nil)
	for _, path := range []string{"/v1/tasks", "/v1/tasks/a", "/v1/queues", "/v1/schedules/n", "/v1/tokens", "/v1/audit"} {
		s.do("GET", path, "", own).want(200, nil)
	}
	for way, body := range map[string]string{
		"POST /v1/tasks": named("c"), "PUT /v1/tasks/c": named("c"), "POST /v1/publish?url=http%3A%2F%2Fexample.com%2F": "x", "POST /v1/tasks/batch": `{"tasks": []}`,
		"PATCH /v1/tasks/a": `{"timeout": "1s"}`, "DELETE /v1/tasks/a": "", "POST /v1/tasks/a/run": "", "POST /v1/tasks/cancel?all=true": "",
		"POST /v1/schedules/n/trigger": "", "PUT /v1/queues/q": `{}`, "POST /v1/tokens": `{"scope": "read"}`, "POST /v1/secrets": "",
	} {
		method, target, _ := strings.Cut(way, " ")
		s.do(method, target, body, own).problem(403, "namespace_suspended", "")
	}
	// An operator cannot create tasks either, but may cancel existing ones.
	s.do("POST", "/v1/tasks", named("c"), operator, acme).problem(403, "namespace_suspended", "")
	s.do("POST", "/v1/schedules/n/trigger", "", operator, acme).problem(403, "namespace_suspended", "")
	s.do("PUT", "/v1/schedules/new", `{"cron": "0 9 * * *", "task": {"http": {"url": "http://example.com/"}}}`, operator, acme).want(201, nil)
	s.do("PATCH", "/v1/tasks/a", `{"timeout": "1s"}`, operator, acme).want(200, nil)
	s.do("DELETE", "/v1/tasks/a", "", operator, acme).want(200, nil)
	s.do("POST", "/v1/queues/q/pause", "", operator, acme).want(201, nil)
	s.do("PUT", "/v1/namespaces/acme", `{}`, operator).want(200, nil)
	s.do("POST", "/v1/tasks", named("c"), own).want(201, nil)
}

func TestQuotasBoundANamespace(t *testing.T) {
	s := serve(t)
	s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 2, "max_bytes": 562}`).want(201, nil)
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
	batch := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [`+with("d", "")+`]}`, acme), 200)
	if r := batch.Results[0]; r.Status != 403 || r.Code != "quota_exceeded" || r.Field != "max_pending" {
		t.Errorf("%+v", r)
	}
	s.do("DELETE", "/v1/tasks/a", "", acme).want(200, nil)
	s.do("POST", "/v1/tasks", with("e", "12345"), acme).problem(403, "quota_exceeded", "max_bytes") // its record is kept for a while
	s.do("PUT", "/v1/namespaces/acme", `{"max_pending": 2, "max_bytes": 843}`).want(200, nil)
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
		batch := decoded[wire.BatchReply](s.do("POST", "/v1/tasks/batch", `{"tasks": [{}, `+named("c")+`,`+named("d")+`]}`, acme), 200)
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
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
			if s.do("POST", "/v1/tasks", strings.Replace(hour, `"name": "a", `, "", 1), acme).status == 201 {
				made++
			}
		}
		if made < 299 || made > 301 {
			t.Errorf("%d creates in 10 minutes at 0.5 a second", made)
		}
	})
}
