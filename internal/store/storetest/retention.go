package storetest

import (
	"errors"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// retentionCases: a lease ends and a record is removed at their times, and not
// before.
var retentionCases = []testCase{
	{
		"a lease that ended is taken back",
		"Reap gives back each task whose lease ended at or before now, and no other. The lost token is stale then.",
		func(f *fixture) {
			a, b, c := f.create("a", at(start)), f.create("b", at(start)), f.create("c", at(start))
			f.claims(start,
				tasktest.Claim(a, "1", start+100),
				tasktest.Claim(b, "2", start+101))
			f.reap(start+99, 0)
			f.reap(start+100, 1)
			if got := f.get("a"); got.State != task.Scheduled || got.Reclaims != 1 || got.MaybeSendingUntil == 0 || string(got.Request.Body) != "body of a" {
				f.Fatalf("reaped: %v, reclaims %d, zombie until %d, body %q", got.State, got.Reclaims, got.MaybeSendingUntil, got.Request.Body)
			}
			f.wantNames("the lane", waiting(f.peek(a.Lane(), forever)), "a", "c")
			if r := f.trySettle(start+100, a, "1", task.Outcome{Verdict: task.Success}); !errors.Is(r.Err, task.ErrStale) {
				f.Errorf("the lost token settles: %v", r.Err)
			}
			f.settle(start+100, b, "2", task.Outcome{Verdict: task.Success})
			f.reap(start+1_000_000, 0)
			_ = c
		},
	},
	{
		"an extended lease is not taken back before its new end",
		"Extend moves the end that Reap looks at: later, or earlier.",
		func(f *fixture) {
			a, b := f.create("a", at(start)), f.create("b", at(start))
			f.claim(start, a, "1")
			f.claim(start, b, "2")
			_, err := f.store.Transit(f.Context(), start, store.Extensions([]task.Extension{
				{Key: a.Key(), Token: "1", Until: start + 90_000}, {Key: b.Key(), Token: "2", Until: start + 5},
			}))
			fatal.If(f, err)
			f.reap(start+5, 1)
			f.reap(start+89_999, 0)
			f.reap(start+90_000, 1)
		},
	},
	{
		"a cancelled task whose lease is lost is cancelled",
		"No retry follows an Accepted cancel, even if the attempt is never settled.",
		func(f *fixture) {
			made := f.create("a", at(start))
			held := f.claim(start, made, "token")
			f.must(start, task.Cancel{Key: made.Key()})
			f.reap(held.Lease.Until, 1)
			if got := f.get("a"); got.State != task.Cancelled || len(got.Request.Body) != 0 {
				f.Fatalf("%v, body %q", got.State, got.Request.Body)
			}
			f.wantNames("the lane", waiting(f.peek(made.Lane(), forever)))
		},
	},
	{
		"a record is swept when its retention ended",
		"Finished after KeepFinished, dead after KeepDead, to the millisecond. Live tasks are never swept.",
		func(f *fixture) {
			for _, name := range []string{"dead", "done", "running", "waits"} {
				f.create(name, at(start))
			}
			f.claim(start, f.get("running"), "1")
			f.claim(start, f.get("dead"), "2")
			f.settle(start, f.get("dead"), "2", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			f.must(start, task.Cancel{Key: tasktest.Key("done")})
			f.sweep(start.Add(Policy.KeepFinished)-1, 0)
			f.sweep(start.Add(Policy.KeepFinished), 1)
			f.wantNames("left", names(f.list(ns(), task.Page{Limit: 9})), "dead", "running", "waits")
			f.sweep(start.Add(Policy.KeepDead)-1, 0)
			f.sweep(start.Add(Policy.KeepDead), 1)
			f.sweep(start.Add(AuditKeep)-1, 0)
			f.wantNames("left", names(f.list(ns(), task.Page{Limit: 9})), "running", "waits")
			if _, err := f.store.Get(f.Context(), tasktest.Key("dead")); !errors.Is(err, task.ErrNotFound) {
				f.Errorf("Get of a swept record: %v", err)
			}
		},
	},
}

// reap reaps until nothing is left and fails the case unless want leases were taken back.
func (f *fixture) reap(now task.Millis, want int) {
	f.Helper()
	got, err := drainCount(func() (int, error) { return f.store.(store.Reaper).Reap(f.Context(), now, 100) })
	if err != nil || got != want {
		f.Fatalf("Reap at start+%d took back %d leases, error %v, want %d", now-start, got, err, want)
	}
}
