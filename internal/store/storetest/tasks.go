package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// taskCases: a client reads back its writes, no attempt is early, and no request
// is delivered twice. Differential finds what else a store does wrong with tasks.
var taskCases = []testCase{
	{
		"a created task is read back whole",
		"Get returns the record that the create's reply showed, body included.",
		func(f *fixture) {
			made := f.create("a", in(90*time.Second), queue("mail"), priority(task.High), labels(map[string]string{"k": "v", "é": ""}),
				expireAfter(time.Hour), attempts(7), func(s *task.Spec) {
					s.Request.Headers = map[string]string{"X-Shop": "7", "authorization": "t\tü"}
				})
			f.same("the record after its create", f.get("a"), made)
			if string(made.Request.Body) != "body of a" || made.State != task.Scheduled || made.Due != start+90_000 {
				f.Fatalf("the create's reply: state %v, due start+%d, body %q", made.State, made.Due-start, made.Request.Body)
			}
		},
	},
	{
		"a body of the largest size survives",
		"Bodies up to MaxBody are kept byte for byte.",
		func(f *fixture) {
			big := strings.Repeat("\x00\xff0123456789abc\n", task.MaxBody/16)
			f.create("a", tasktest.Text(big))
			if string(f.get("a").Request.Body) != big {
				f.Fatal("the body changed")
			}
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
		"the repeat of a replace changes nothing",
		"The same key and request again: Repeated, with the record as it is, also after the task was delivered or another replace came in between. So it is never delivered twice.",
		func(f *fixture) {
			first := func() task.Change {
				return task.Replace{Spec: f.spec("a", at(start)), If: task.Precondition{IfNoneMatch: true}, Idempotency: idem("k", "request")}
			}
			repeated := func(id string, s task.State) {
				f.Helper()
				if r := f.apply(start+9, first()); r.Err != nil || r.Effect != task.Repeated || r.Task.ID != id || r.Task.State != s {
					f.Fatalf("repeat: effect %d, error %v, task %+v, want id %s, %v", r.Effect, r.Err, r.Task, id, s)
				}
			}
			made := f.must(start, first())
			repeated(made.ID, task.Scheduled)
			f.claim(start, made, "token")
			repeated(made.ID, task.Running)
			f.settle(start, made, "token", task.Outcome{Verdict: task.Success, Status: 200})
			repeated(made.ID, task.Delivered)
			second := f.must(start, task.Replace{Spec: f.spec("a", at(start)), Idempotency: idem("k2", "request")})
			repeated(second.ID, task.Scheduled)
			third := f.must(start, task.Replace{Spec: f.spec("a", at(start))})
			repeated(third.ID, task.Scheduled)
			f.same("the record", f.get("a"), third)
			f.must(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "request")}) // no record has the key: it is free
		},
	},
	{
		"a key is free again when its record is swept",
		"The key lives as long as the record that it made. Then another task can have it.",
		func(f *fixture) {
			f.must(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")})
			f.must(start, task.Cancel{Key: tasktest.Key("a")})
			f.sweep(start.Add(Policy.KeepFinished), 1)
			f.must(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "request")})
			if r := f.apply(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")}); !errors.Is(r.Err, task.ErrIdempotencyReuse) {
				f.Fatalf("the key is b's now, a create of a with it: %v", r.Err)
			}
		},
	},
	{
		"a call of Reap or Sweep has a limit",
		"Each changes at most as many tasks as asked, in however many shards they lie, and calls until 0 reach all.",
		func(f *fixture) {
			const many = 100
			for i := range many {
				f.claim(start, f.create(fmt.Sprint(i), at(start)), "token")
			}
			f.reap(start.Add(time.Hour), many)
			for i := range many {
				f.must(start, task.Cancel{Key: tasktest.Key(fmt.Sprint(i))})
			}
			f.sweep(start.Add(Policy.KeepFinished), many)
		},
	},
	{
		"a running task can be patched",
		"Patch and settlement of one record do not undo each other: the lease, the new lane and the new body all stay.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			mail := "mail"
			f.must(start, task.Patch{Key: made.Key(), Queue: &mail, Body: &task.Body{Kind: task.TextBody, Bytes: []byte("new")}})
			f.settle(start+1, made, "token", task.Outcome{Verdict: task.Failure})
			if got := f.get("a"); got.State != task.Scheduled || got.Queue != "mail" || string(got.Request.Body) != "new" {
				f.Fatalf("%v, queue %s, body %q", got.State, got.Queue, got.Request.Body)
			}
		},
	},
	{
		"a replacement waits for the attempt under way",
		"The new task is in no lane until the old attempt has settled, and then it has its own time and its own body.",
		func(f *fixture) {
			made := f.create("a", at(start), tasktest.Text("old"))
			f.claim(start, made, "token")
			next := f.must(start+1, task.Replace{Spec: f.spec("a", at(start+500), queue("mail"), tasktest.Text("new"))})
			CheckInvariants(f, f.store, start) // only what is scheduled is in a lane
			if r := f.tryClaim(start+500, next, "token2"); next.State != task.Running || !isStateError(r.Err) {
				f.Fatalf("%v, and a second attempt at the same time as the first: %v", next.State, r.Err)
			}
			t := f.settle(start+700, made, "token", task.Outcome{Verdict: task.Success})
			if t.ID != next.ID || t.State != task.Scheduled || t.Due != start+500 {
				f.Fatalf("%s %v, due start+%d", t.ID, t.State, t.Due-start)
			}
			if again := f.claim(start+700, t, "token2"); string(again.Request.Body) != "new" || again.Attempts != 1 {
				f.Fatalf("body %q, attempts %d", again.Request.Body, again.Attempts)
			}
		},
	},
	{
		"an extended lease is not taken back before its new end",
		"Extend moves the end that Reap looks at: later, or earlier.",
		func(f *fixture) {
			a, b := f.create("a", at(start)), f.create("b", at(start))
			f.claim(start, a, "1")
			f.claim(start, b, "2")
			f.transit(start, store.Extensions([]task.Extension{{Key: a.Key(), Token: "1", Until: start + 90_000}, {Key: b.Key(), Token: "2", Until: start + 5}}))
			f.reap(start+5, 1)
			f.reap(start+89_999, 0)
			f.reap(start+90_000, 1)
		},
	},
	{
		"a death by lost leases is reported",
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

func onDead(s *task.Spec) { s.OnDead = "https://dead.example/notices" }

func isStateError(err error) bool {
	_, ok := errors.AsType[*task.StateError](err)
	return ok
}

// idem returns the idempotency mark of a key and a request.
func idem(k, request string) *task.Idempotency {
	return &task.Idempotency{Key: task.Digest([]byte(k)), Fingerprint: task.Digest([]byte(request))}
}

// reap takes back all leases that have ended, and fails the case unless there were
// want of them.
func (f *fixture) reap(now task.Millis, want int) {
	f.Helper()
	got, err := drainLimited(33, func() (int, error) { return f.store.(store.Reaper).Reap(f.Context(), now, 33) })
	if err != nil || got != want {
		f.Fatalf("Reap at start+%d took back %d leases, error %v, want %d", now-start, got, err, want)
	}
}

// sweep removes all records whose retention has ended, and fails the case unless
// there were want of them.
func (f *fixture) sweep(now task.Millis, want int) {
	f.Helper()
	got, err := drainLimited(33, func() (int, error) { return f.store.Sweep(f.Context(), now, 33) })
	if err != nil || got != want {
		f.Fatalf("Sweep at start+%d removed %d records, error %v, want %d", now-start, got, err, want)
	}
}

// drainCount calls step until it has nothing more to do, and adds up.
func drainCount(step func() (int, error)) (int, error) {
	for total := 0; ; {
		n, err := step()
		if err != nil || n == 0 {
			return total, err
		}
		total += n
	}
}
