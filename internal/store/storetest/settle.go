package storetest

import (
	"errors"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// settleCases: a claim ends once, by its token, and the effects of its end are
// stored with it in one step.
var settleCases = []testCase{
	{
		"a failure waits for its backoff in its lane",
		"The retry's due time is where the lane's index has it, with the body kept.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			t := f.settle(start+9, made, "token", task.Outcome{Verdict: task.Failure, Status: 500, Error: "it said 500"})
			if t.State != task.Scheduled || t.Due <= start+9 {
				f.Fatalf("%v, due start+%d", t.State, t.Due-start)
			}
			f.wantOnlyIn(t, []task.Lane{t.Lane()})
			if r := f.tryClaim(t.Due-1, t, "token2"); !errors.Is(r.Err, task.ErrNotDue) {
				f.Fatalf("claim before the backoff is over: %v", r.Err)
			}
			if again := f.claim(t.Due, t, "token2"); again.Attempts != 2 || string(again.Request.Body) != "body of a" || len(again.History) != 1 {
				f.Fatalf("second attempt: tries %d, body %q", again.Attempts, again.Request.Body)
			}
		},
	},
	{
		"a claim is settled once",
		"The second settlement, the one with another token, and the one of an unclaimed task are ErrStale and change nothing.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			if r := f.trySettle(start, made, "another", task.Outcome{Verdict: task.Success}); !errors.Is(r.Err, task.ErrStale) || r.Task != nil {
				f.Fatalf("another token: %v", r.Err)
			}
			done := f.settle(start, made, "token", task.Outcome{Verdict: task.Failure})
			for _, token := range []task.Token{"token", ""} {
				if r := f.trySettle(start, made, token, task.Outcome{Verdict: task.Success}); !errors.Is(r.Err, task.ErrStale) {
					f.Errorf("settled again with %q: %v", token, r.Err)
				}
			}
			unknown := *made
			unknown.Name = "unknown"
			if r := f.trySettle(start, &unknown, "token", task.Outcome{Verdict: task.Success}); !errors.Is(r.Err, task.ErrStale) {
				f.Errorf("unknown: %v", r.Err)
			}
			f.same("the record", f.get("a"), withBody(done, "body of a"))
		},
	},
	{
		"a replacement waits for the attempt under way",
		"The new task is in no lane until the old attempt has settled, and then at its own time with its own body.",
		func(f *fixture) {
			made := f.create("a", at(start), tasktest.Text("old"))
			f.claim(start, made, "token")
			next := f.must(start+1, task.Replace{Spec: f.spec("a", at(start+500), queue("mail"), tasktest.Text("new"))})
			if next.State != task.Running {
				f.Fatalf("%v", next.State)
			}
			f.wantNames("the new lane", waiting(f.peek(next.Lane(), forever)))
			if r := f.tryClaim(start+500, next, "token2"); !isStateError(r.Err) {
				f.Fatalf("a second attempt at the same time as the first: %v", r.Err)
			}
			t := f.settle(start+700, made, "token", task.Outcome{Verdict: task.Success})
			if t.ID != next.ID || t.State != task.Scheduled {
				f.Fatalf("%s %v", t.ID, t.State)
			}
			f.wantOnlyIn(t, []task.Lane{made.Lane(), next.Lane()})
			if again := f.claim(start+700, t, "token2"); string(again.Request.Body) != "new" || again.Attempts != 1 {
				f.Fatalf("body %q, tries %d", again.Request.Body, again.Attempts)
			}
		},
	},
	{
		"a running task can be patched",
		"Patch and settlement of one record do not undo each other: the lease, the new lane and the new body all stay.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			mail := "mail"
			f.must(start, task.Patch{Key: tasktest.Key("a"), Queue: &mail, Body: &task.Body{Kind: task.TextBody, Bytes: []byte("new")}})
			t := f.settle(start+1, made, "token", task.Outcome{Verdict: task.Failure})
			f.wantOnlyIn(t, []task.Lane{made.Lane(), t.Lane()})
			if got := f.get("a"); got.Queue != "mail" || string(got.Request.Body) != "new" {
				f.Fatalf("queue %s, body %q", got.Queue, got.Request.Body)
			}
		},
	},
}

// withBody returns t with a body loaded.
func withBody(t *task.Task, body string) *task.Task {
	c := *t
	c.Request.Body = []byte(body)
	return &c
}
