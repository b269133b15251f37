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
	var got wire.Task
	s.do("GET", "/v1/tasks/now", "", tenant).want(200, &got)
	if got.Reason != "egress_denied" || !strings.HasPrefix(got.Attempts[0].Error, "refused by the egress policy") || !strings.Contains(got.Attempts[0].Error, "--egress-allow") {
		t.Errorf("a namespace's token sees %+v", got.Attempts)
	}
	s.do("GET", "/v1/tasks/now", "", operator).want(200, &got)
	if !strings.Contains(got.Attempts[0].Error, address+":80 is a private address; --egress-allow "+address+"/32 opens it") {
		t.Errorf("an operator sees %+v", got.Attempts)
	}
}
