package storetest

import (
	"errors"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// claimCases: one token holds a task at a time. No task is claimed early,
// twice, from another lane, or after its cancel.
var claimCases = []testCase{
	{
		"a claim gives the task with its body",
		"The reply is all that delivery needs: the record as it is now, its lease, and the body.",
		func(f *fixture) {
			made := f.create("a", tasktest.Text("payload"))
			r := f.claims(made.Due, tasktest.Claim(made, "token", made.Due+500))[0]
			if r.Err != nil || r.Effect != task.Updated {
				f.Fatalf("effect %d, error %v", r.Effect, r.Err)
			}
			t := r.Task
			if t.State != task.Running || t.Attempts != 1 || string(t.Request.Body) != "payload" || t.Version != made.Version {
				f.Fatalf("claimed: state %v, tries %d, body %q, version %d", t.State, t.Attempts, t.Request.Body, t.Version)
			}
			want := task.Lease{Token: "token", Since: made.Due, Until: made.Due + 500, TaskID: made.ID, Timeout: made.Timeout}
			if *t.Lease != want {
				f.Fatalf("lease %+v, want %+v", *t.Lease, want)
			}
			f.same("the record after its claim", f.get("a"), t)
			f.wantNames("its lane", waiting(f.peek(made.Lane(), forever)))
		},
	},
	{
		"nothing is claimed early",
		"A claim one millisecond before the due time is ErrNotDue, and takes nothing.",
		func(f *fixture) {
			made := f.create("a")
			if r := f.tryClaim(made.Due-1, made, "token"); !errors.Is(r.Err, task.ErrNotDue) || r.Task != nil {
				f.Fatalf("early: %v", r.Err)
			}
			f.same("the record after the refused claim", f.get("a"), made)
			f.claim(made.Due, made, "token")
		},
	},
	{
		"a task is claimed by one token",
		"A second token is refused; the first one asking again gets the same answer.",
		func(f *fixture) {
			made := f.create("a", at(start))
			first := f.claim(start, made, "one")
			if r := f.tryClaim(start, made, "two"); !isStateError(r.Err) {
				f.Fatalf("second token: %v", r.Err)
			}
			r := f.tryClaim(start+5, made, "one")
			if r.Err != nil || r.Effect != task.Repeated {
				f.Fatalf("the first token again: effect %d, error %v", r.Effect, r.Err)
			}
			f.same("the repeated claim", r.Task, first)
		},
	},
	{
		"a clock that was just set ahead expires nothing",
		"A task expires by the claim's trusted time, which a step of the clock does not move: until then it is claimed, however late it is by the clock.",
		func(f *fixture) {
			made := f.create("a", at(start), expireAfter(time.Second))
			const blip = start + 3_600_000
			claim := func(trusted task.Millis, token task.Token) store.Reply {
				return f.claims(blip, task.Claim{Key: made.Key(), Lane: made.Lane(), Token: token, Until: blip + 30_000, Trusted: trusted})[0]
			}
			if r := claim(start+1000, "1"); r.Err != nil || r.Task.State != task.Running {
				f.Fatalf("claim: %v, %+v", r.Err, r.Task)
			}
			f.settle(blip, made, "1", task.Outcome{Verdict: task.Unsent})
			if r := claim(start+1001, "2"); !errors.Is(r.Err, task.ErrExpired) || f.get("a").State != task.Expired {
				f.Fatalf("claim when the step is believed: %v", r.Err)
			}
		},
	},
	{
		"a lease is extended by its token alone",
		"Extend moves the end for the token that holds the lease, and is ErrStale for every other.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			idle := f.create("idle")
			replies, err := f.store.Transit(f.Context(), start, store.Extensions([]task.Extension{
				{Key: made.Key(), Token: "another", Until: start + 1},
				{Key: made.Key(), Token: "token", Until: start + 90_000},
				{Key: idle.Key(), Token: "token", Until: start + 1},
				{Key: tasktest.Key("unknown"), Token: "token", Until: start + 1},
			}))
			if err != nil || len(replies) != 4 {
				f.Fatalf("%d answers, error %v", len(replies), err)
			}
			for i, stale := range []bool{true, false, true, true} {
				if err := replies[i].Err; errors.Is(err, task.ErrStale) != stale || !stale && err != nil {
					f.Errorf("extension %d: %v", i, err)
				}
			}
			if got := f.get("a"); got.Lease.Until != start+90_000 || got.Version != made.Version || string(got.Request.Body) != "body of a" {
				f.Fatalf("lease until start+%d, version %d, body %q", got.Lease.Until-start, got.Version, got.Request.Body)
			}
		},
	},
}
