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

// idem returns the idempotency mark of a key and a request.
func idem(k, request string) *task.Idempotency {
	return &task.Idempotency{Key: task.Digest([]byte(k)), Fingerprint: task.Digest([]byte(request))}
}

// reap takes back all leases that have ended, and fails the case unless there were
// want of them.
func (f *fixture) reap(now task.Millis, want int) {
	f.Helper()
	got, err := drainCount(func() (int, error) { return f.store.(store.Reaper).Reap(f.Context(), now, 100) })
	if err != nil || got != want {
		f.Fatalf("Reap at start+%d took back %d leases, error %v, want %d", now-start, got, err, want)
	}
}

// sweep removes all records whose retention has ended, and fails the case unless
// there were want of them.
func (f *fixture) sweep(now task.Millis, want int) {
	f.Helper()
	got, err := drainCount(func() (int, error) { return f.store.Sweep(f.Context(), now, 100) })
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
