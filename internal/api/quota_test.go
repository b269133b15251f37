package api_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

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
	var batch wire.BatchReply
	s.do("POST", "/v1/tasks/batch", `{"tasks": [`+with("d", "")+`]}`, acme).want(200, &batch)
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
