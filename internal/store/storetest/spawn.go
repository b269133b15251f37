package storetest

import (
	"fmt"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// spawnCases: a death notice is exactly as durable as the death.
var spawnCases = []testCase{
	{
		"a death begins the task that reports it",
		"The settlement that makes a task dead creates the on_dead task in the same step: it waits, due at once, in its own lane.",
		func(f *fixture) {
			w := f.watch()
			made := f.create("a", at(start), onDead)
			f.claim(start, made, "token")
			r := f.trySettle(start+7, made, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone", Status: 410})
			if r.Err != nil || r.Spawned == nil {
				f.Fatalf("spawned %v, error %v", r.Spawned, r.Err)
			}
			got := f.load(r.Spawned.Key())
			if got.State != task.Scheduled || got.Due != start+7 || got.Request.URL != deadURL || got.Name != fmt.Sprintf("a@dead.%s.1", made.ID) {
				f.Errorf("the task: %+v", got)
			}
			if body := string(got.Request.Body); !strings.Contains(body, made.ID) || !strings.Contains(body, `"gone"`) {
				f.Errorf("its body: %s", body)
			}
			f.wantNames("its lane", waiting(f.peek(got.Lane(), start+7)), got.Name)
			w.await(got.Entry())
			f.claim(start+7, got, "token")
			if r := f.trySettle(start+7, got, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"}); r.Err != nil || r.Spawned != nil {
				f.Errorf("the failure of a death notice is reported too: %v, error %v", r.Spawned, r.Err)
			}
		},
	},
	{
		"the detail of an error is kept, and no callback has it",
		"The detail of a refusal is for operators and stays with the attempt. The on_dead task goes to a client's receiver and has the error without the detail.",
		func(f *fixture) {
			made := f.create("a", at(start), onDead)
			f.claim(start, made, "token")
			r := f.trySettle(start+7, made, "token", task.Outcome{
				Verdict: task.Refusal, Reason: task.ReasonEgressDenied, Error: task.EgressRefused, Detail: "10.0.0.7:6379 is a private address",
			})
			if r.Err != nil || r.Spawned == nil {
				f.Fatalf("spawned %v, error %v", r.Spawned, r.Err)
			}
			if h := f.get("a").History; len(h) != 1 || h[0].Error != task.EgressRefused || h[0].Detail != "10.0.0.7:6379 is a private address" {
				f.Errorf("the attempts: %+v", h)
			}
			if body := string(f.load(r.Spawned.Key()).Request.Body); !strings.Contains(body, "refused by the egress policy") || strings.Contains(body, "10.0.0.7") {
				f.Errorf("the body of the on_dead task: %s", body)
			}
		},
	},
	{
		"a death by lost leases is reported too",
		"Reap creates the on_dead task of a task that it makes dead.",
		func(f *fixture) {
			made, now := f.create("a", at(start), onDead), start
			for i := range task.MaxReclaims {
				now = f.claim(now, f.get("a"), task.Token(fmt.Sprint(i))).Lease.Until
				f.reap(now, 1)
			}
			f.wantNames("all", names(f.list(ns(), task.Page{Limit: 9})), "a", fmt.Sprintf("a@dead.%s.%d", made.ID, task.MaxReclaims))
		},
	},
}

const deadURL = "https://dead.example/notices"

func onDead(s *task.Spec) { s.OnDead = deadURL }
