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
		"a claim names the lane it read",
		"If a task has changed lanes, the error is ErrLaneChanged: the claim was counted against another lane's limits.",
		func(f *fixture) {
			made := f.create("a", at(start))
			mail := "mail"
			moved := f.must(start, task.Patch{Key: tasktest.Key("a"), Queue: &mail})
			if r := f.tryClaim(start, made, "token"); !errors.Is(r.Err, task.ErrLaneChanged) {
				f.Fatalf("by the old lane: %v", r.Err)
			}
			f.claim(start, moved, "token")
		},
	},
	{
		"an expired task is finished by its claim",
		"expire_after passed: the claim answers ErrExpired with the finished record, which is kept, and no attempt starts.",
		func(f *fixture) {
			made := f.create("a", at(start), expireAfter(time.Second))
			r := f.tryClaim(start+1001, made, "token")
			if !errors.Is(r.Err, task.ErrExpired) || r.Task == nil || r.Task.State != task.Expired {
				f.Fatalf("claim: %v, %+v", r.Err, r.Task)
			}
			got := f.get("a")
			if got.State != task.Expired || got.Attempts != 0 || len(got.Request.Body) != 0 {
				f.Fatalf("the record: state %v, tries %d, body %q", got.State, got.Attempts, got.Request.Body)
			}
			f.wantNames("its lane", waiting(f.peek(made.Lane(), forever)))
			punctual := f.create("b", at(start), expireAfter(time.Second))
			f.claim(start+1000, punctual, "token2")
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
		"claims of one batch are judged one by one",
		"A refused claim takes nothing from its neighbours, and replies stand in the order of the claims.",
		func(f *fixture) {
			a, b, c := f.create("a", at(start)), f.create("b"), f.create("c", at(start))
			claim := func(t *task.Task, token task.Token) task.Claim {
				return tasktest.Claim(t, token, start+100)
			}
			r := f.claims(start, claim(a, "1"), claim(b, "2"), claim(c, "3"), claim(a, "4"))
			if r[0].Err != nil || !errors.Is(r[1].Err, task.ErrNotDue) || r[2].Err != nil || !isStateError(r[3].Err) {
				f.Fatalf("errors: %v, %v, %v, %v", r[0].Err, r[1].Err, r[2].Err, r[3].Err)
			}
			if r[0].Task.Name != "a" || r[2].Task.Name != "c" {
				f.Fatalf("replies of %q and %q", r[0].Task.Name, r[2].Task.Name)
			}
		},
	},
	{
		"a task that comes with the time of its next attempt waits for it",
		"The due time stays the requested one, and expire_after counts from it.",
		func(f *fixture) {
			next := func(s *task.Spec) { s.When = task.When{At: start - 60_000, Next: start + 5000} }
			made := f.create("a", next, expireAfter(70*time.Second))
			if made.OriginalDue != start-60_000 || made.Due != start+5000 {
				f.Fatalf("due start%+d, next attempt start%+d", made.OriginalDue-start, made.Due-start)
			}
			if r := f.tryClaim(start+4999, made, "early"); !errors.Is(r.Err, task.ErrNotDue) {
				f.Errorf("claim before its next attempt: %v", r.Err)
			}
			f.claim(start+5000, made, "token")
			late := f.create("late", next, expireAfter(70*time.Second))
			if r := f.tryClaim(start+10_001, late, "token"); !errors.Is(r.Err, task.ErrExpired) {
				f.Errorf("claim 70,001 ms after the due time: %v", r.Err)
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
	{
		"an extension reports that the task was cancelled",
		"Extend moves the end of the lease all the same, and says ErrCancelRequested each time: a hint may be lost.",
		func(f *fixture) {
			made := f.create("a", at(start), kind("close"))
			f.claim(start, made, "token")
			extend := func(until task.Millis) error {
				replies, err := f.store.Transit(f.Context(), start, store.Extensions([]task.Extension{{Key: made.Key(), Token: "token", Until: until}}))
				if err != nil {
					f.Fatal(err)
				}
				return replies[0].Err
			}
			if err := extend(start + 1000); err != nil {
				f.Fatalf("before the cancel: %v", err)
			}
			f.apply(start, task.Cancel{Key: made.Key()})
			for _, until := range []task.Millis{start + 2000, start + 3000} {
				if err := extend(until); !errors.Is(err, task.ErrCancelRequested) {
					f.Errorf("after the cancel: %v", err)
				}
				if got := f.get("a").Lease.Until; got != until {
					f.Errorf("the lease ends at %d, want %d", got, until)
				}
			}
		},
	},
}
