package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// The secrets in the request and in the reply of the receiver begin with
// "hush".
func TestATokenOfScopeReadSeesNoHiddenPayloads(t *testing.T) {
	s := serve(t)
	s.reach("dead") // its attempt has a reply
	s.do("PUT", "/v1/namespaces/default", `{"hide_payloads": true}`).want(201, nil)
	const payload = `"http": {"url": "http://example.com/", "headers": {"X-Key": "hush-header"}, "body": "hush-body"}`
	s.do("PUT", "/v1/tasks/b", `{"delay": "1h", `+payload+`}`).want(201, nil)
	s.do("PUT", "/v1/schedules/s", `{"every": "1h", "task": {`+payload+`}}`).want(201, nil)
	read, write, operator := s.token("default", settings.ScopeRead), s.token("default", settings.ScopeWrite), s.token("*", settings.ScopeRead)
	for _, path := range []string{"/v1/tasks", "/v1/tasks/b", "/v1/tasks/b?wait=0s", "/v1/schedules", "/v1/schedules/s"} {
		for _, token := range []string{read, operator} {
			r := s.do("GET", path, "", token).want(200, nil)
			if body := string(r.body); strings.Contains(body, "hush") || !strings.Contains(body, `"hidden":true`) {
				t.Errorf("%s: %s", path, body)
			}
		}
		if r := s.do("GET", path, "", write).want(200, nil); !strings.Contains(string(r.body), "hush-header") || strings.Contains(string(r.body), "hidden") {
			t.Errorf("%s, scope write: %s", path, r.body)
		}
	}
	for _, path := range []string{"/v1/tasks", "/v1/schedules"} {
		if p := s.do("GET", path+"?include=body", "", read).problem(403, "insufficient_scope", "include"); p.Scope != "write" {
			t.Errorf("%+v", p)
		}
		s.do("GET", path+"?include=body", "", write).want(200, nil)
	}
	hidden, shown := s.do("GET", "/v1/tasks/a", "", read).task(200), s.do("GET", "/v1/tasks/a", "", write).task(200)
	if len(hidden.Attempts) == 0 || len(hidden.Attempts) != len(shown.Attempts) || hidden.Attempts[0].Reply != "" || shown.Attempts[0].Reply == "" {
		t.Errorf("replies: %+v, scope write: %+v", hidden.Attempts, shown.Attempts)
	}
	if hidden.Attempts[0].Status != shown.Attempts[0].Status || hidden.HTTP.URL != shown.HTTP.URL {
		t.Errorf("%+v", hidden)
	}
	if hidden.Attempts[0].Error != "" {
		t.Errorf("an error after a reply: %q", hidden.Attempts[0].Error)
	}
	s.do("PUT", "/v1/namespaces/default", `{}`, s.token("*", settings.ScopeAdmin)).want(200, nil)
	var list api.TaskList
	if r := s.do("GET", "/v1/tasks?include=body", "", read).want(200, &list); !strings.Contains(string(r.body), "hush-body") {
		t.Errorf("after the setting: %s", r.body)
	}
}

func TestErrorsOfHiddenPayloadsQuoteNoReply(t *testing.T) {
	s := serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnAttempts: func(activity.Filter, bool) wire.AttemptList {
			list := wire.AttemptList{Attempts: []wire.EndedAttempt{
				{Namespace: "acme", Status: 302, Error: `the receiver answered 302 Found to "/?token=hush"`},
				{Namespace: "acme", Error: `no readable reply: malformed HTTP response "hush"`},
				{Namespace: "acme", Error: "cannot connect to a:1: connection refused"},
				{Namespace: "other", Status: 302, Error: "shown"},
				{Namespace: "acme", Destination: "kind/close-order", Error: "hush, an error of the handler"},
			}}
			for i := range list.Attempts {
				list.Attempts[i].At, list.Attempts[i].Outcome = "2030-01-01T00:00:00.000Z", "failed"
			}
			return list
		}}
	})
	s.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme", HidePayloads: true}})
	s.namespace("other")
	list := decoded[wire.AttemptList](s.do("GET", "/v1/attempts", "", s.token("*", settings.ScopeRead)), 200)
	for i, want := range []string{"", "no readable reply", "cannot connect to a:1: connection refused", "shown", "the handler returned an error"} {
		if got := list.Attempts[i].Error; got != want {
			t.Errorf("attempt %d: %q, want %q", i, got, want)
		}
	}
}

// TestANamespacesTokenReadsTheVerdictAndAnOperatorTheAddress: otherwise the
// errors of tasks would let a namespace resolve names and map the internal
// network.
func TestANamespacesTokenReadsTheVerdictAndAnOperatorTheAddress(t *testing.T) {
	const address = "10.1.2.3"
	s := serve(t)
	s.do("POST", "/v1/tasks", `{"name": "now", "delay": "0s", "http": {"url": "http://inside.example/"}}`).want(201, nil)
	at := task.FloorMillis(time.Now().Add(time.Second)) // the task is due then
	record := s.record("now")
	refusal := task.Outcome{
		Verdict: task.Refusal, Reason: task.ReasonEgressDenied, StartedAt: at, Error: task.EgressRefused,
		Detail: address + ":80 is a private address; --egress-allow " + address + "/32 opens it",
	}
	for _, steps := range [][]store.Step{
		store.Claims([]task.Claim{{Key: record.Key(), Lane: record.Lane(), Token: "token", Until: at.Add(time.Minute)}}),
		store.Settlements([]task.Settlement{{Key: record.Key(), Token: "token", Outcome: refusal}}),
	} {
		if replies, err := s.store.Transit(t.Context(), at, steps); err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
	}
	operator, tenant := s.token(settings.AllNamespaces, settings.ScopeAdmin), s.token(task.DefaultNamespace, settings.ScopeAdmin)
	for _, target := range []string{"/v1/tasks/now", "/v1/tasks/now?wait=1s", "/v1/tasks?state=dead", "/v1/audit"} {
		r := s.do("GET", target, "", tenant)
		r.want(200, nil)
		if strings.Contains(string(r.body), address) {
			t.Errorf("%s shows a namespace's token the address: %s", target, r.body)
		}
	}
	got := decoded[wire.Task](s.do("GET", "/v1/tasks/now", "", tenant), 200)
	if got.Reason != "egress_denied" || !strings.HasPrefix(got.Attempts[0].Error, "refused by the egress policy") || !strings.Contains(got.Attempts[0].Error, "--egress-allow") {
		t.Errorf("a namespace's token sees %+v", got.Attempts)
	}
	s.do("GET", "/v1/tasks/now", "", operator).want(200, &got)
	if !strings.Contains(got.Attempts[0].Error, address+":80 is a private address; --egress-allow "+address+"/32 opens it") {
		t.Errorf("an operator sees %+v", got.Attempts)
	}
}
