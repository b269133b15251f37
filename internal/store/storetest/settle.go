package storetest

import (
	"errors"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// settleCases: a claim ends once, by its token, and the effects of its end are
// stored with it in one step.
var settleCases = []testCase{
	{
		"a success delivers",
		"A delivered task is in no lane, keeps its record and last attempts, and loses its body.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			o := task.Outcome{Verdict: task.Success, Status: 204, StartedAt: start + 2, Latency: 3 * time.Millisecond, Reply: "fine"}
			done := f.settle(start+9, made, "token", o)
			got := f.get("a")
			f.same("the record", got, done)
			if got.State != task.Delivered || len(got.History) != 1 || got.History[0].Reply != "fine" || got.Request.BodySize != 0 || len(got.Request.Body) != 0 {
				f.Fatalf("%+v", got)
			}
			f.wantNames("its lane", waiting(f.peek(made.Lane(), forever)))
		},
	},
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
		"a retry does not move the due time that was asked for",
		"A failed attempt moves the next attempt alone: lists find the task by the time its client asked for.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			f.settle(start+9, made, "token", task.Outcome{Verdict: task.Failure, Status: 500})
			got := f.get("a")
			if got.OriginalDue != start || got.Due <= start+9 || got.NextAttempt() != got.Due {
				f.Fatalf("asked for start%+d, next attempt at start%+d", got.OriginalDue-start, got.NextAttempt()-start)
			}
			filter := task.Filter{Namespace: task.DefaultNamespace, DueAfter: start - 1, DueBefore: start + 1}
			f.wantNames("due then", names(f.list(filter, task.Page{Limit: 9})), "a")
			filter = task.Filter{Namespace: task.DefaultNamespace, DueAfter: start}
			f.wantNames("due later", names(f.list(filter, task.Page{Limit: 9})))
			done := f.claim(got.Due, got, "token2")
			if done.NextAttempt() != 0 {
				f.Errorf("an attempt is under way, and the next one is at start%+d", done.NextAttempt()-start)
			}
			done = f.settle(got.Due+1, done, "token2", task.Outcome{Verdict: task.Success, Status: 200})
			if done.OriginalDue != start || done.NextAttempt() != 0 {
				f.Errorf("delivered: asked for start%+d, next attempt %d", done.OriginalDue-start, done.NextAttempt())
			}
		},
	},
	{
		"a death is kept whole",
		"A dead task keeps its body, so that it can be retried by hand, and is in no lane until then.",
		func(f *fixture) {
			made := f.create("a", at(start), attempts(1))
			f.claim(start, made, "token")
			t := f.settle(start+9, made, "token", task.Outcome{Verdict: task.Failure, Status: 500})
			if t.State != task.Dead || t.Reason != task.ReasonAttempts {
				f.Fatalf("%v, %s", t.State, t.Reason)
			}
			f.wantNames("its lane", waiting(f.peek(made.Lane(), forever)))
			if got := f.get("a"); string(got.Request.Body) != "body of a" {
				f.Fatalf("body %q", got.Request.Body)
			}
			t = f.must(start+50, task.Revive{Key: tasktest.Key("a")})
			if again := f.claim(start+50, t, "token2"); string(again.Request.Body) != "body of a" || again.ID != made.ID {
				f.Fatalf("retried: body %q, id %s", again.Request.Body, again.ID)
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
		"a settlement that comes late still counts",
		"A lease that ended is held until it is reaped: a delivery is recorded as delivered.",
		func(f *fixture) {
			made := f.create("a", at(start))
			held := f.claim(start, made, "token")
			if t := f.settle(held.Lease.Until+5000, made, "token", task.Outcome{Verdict: task.Success}); t.State != task.Delivered {
				f.Fatalf("%v", t.State)
			}
		},
	},
	{
		"an unsent attempt leaves the task as it was",
		"Unsent gives the claim back: same place in the lane, same record.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start+5, made, "token")
			f.settle(start+6, made, "token", task.Outcome{Verdict: task.Unsent})
			f.same("the record", f.get("a"), made)
			f.wantHead(made)
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
	{
		"settlements of one batch are judged one by one",
		"A stale one takes nothing from its neighbours, and replies stand in order.",
		func(f *fixture) {
			a, b := f.create("a", at(start)), f.create("b", at(start))
			f.claim(start, a, "1")
			f.claim(start, b, "2")
			success := task.Outcome{Verdict: task.Success}
			replies, err := f.store.Transit(f.Context(), start, store.Settlements([]task.Settlement{
				{Key: a.Key(), Token: "1", Outcome: success}, {Key: a.Key(), Token: "1", Outcome: success}, {Key: b.Key(), Token: "2", Outcome: success},
			}))
			if err != nil || len(replies) != 3 || replies[0].Err != nil || !errors.Is(replies[1].Err, task.ErrStale) || replies[2].Err != nil || replies[2].Task.Name != "b" {
				f.Fatalf("%+v, error %v", replies, err)
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
