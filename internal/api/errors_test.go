package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// TestANamespacesTokenReadsTheVerdictAndAnOperatorTheAddress: otherwise the
// errors of tasks would let a namespace resolve names and map the internal
// network.
func TestANamespacesTokenReadsTheVerdictAndAnOperatorTheAddress(t *testing.T) {
	const address = "10.1.2.3"
	s := serve(t)
	s.do("POST", "/v1/tasks", `{"name": "now", "delay": "0s", "http": {"url": "http://inside.example/"}}`).want(201, nil)
	for name, o := range map[string]task.Outcome{
		"now": {Error: task.EgressRefused, Detail: address + ":80 is a private address; --egress-allow " + address + "/32 opens it"},
	} {
		at := task.FloorMillis(time.Now().Add(time.Second)) // the task is due then
		r := s.record(name)
		if replies, err := s.store.Transit(t.Context(), at, store.Claims([]task.Claim{{Key: r.Key(), Lane: r.Lane(), Token: "token", Until: at.Add(time.Minute)}})); err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
		o.Verdict, o.Reason, o.StartedAt = task.Refusal, task.ReasonEgressDenied, at
		if replies, err := s.store.Transit(t.Context(), at, store.Settlements([]task.Settlement{{Key: r.Key(), Token: "token", Outcome: o}})); err != nil || replies[0].Err != nil {
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
	for _, name := range []string{"now"} {
		var got wire.Task
		s.do("GET", "/v1/tasks/"+name, "", tenant).want(200, &got)
		if got.Reason != "egress_denied" || !strings.HasPrefix(got.Attempts[0].Error, "refused by the egress policy") || !strings.Contains(got.Attempts[0].Error, "--egress-allow") {
			t.Errorf("%s: a namespace's token sees %+v", name, got.Attempts)
		}
		s.do("GET", "/v1/tasks/"+name, "", operator).want(200, &got)
		if !strings.Contains(got.Attempts[0].Error, address+":80 is a private address; --egress-allow "+address+"/32 opens it") {
			t.Errorf("%s: an operator sees %+v", name, got.Attempts)
		}
	}
}
