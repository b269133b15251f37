package storetest

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// quotaCases: a namespace gets the full amount that its quotas allow, to the
// task and the byte, and no delivery ever fails because of a quota.
var quotaCases = []testCase{
	{
		"a quota is exact however many ask at once",
		"Of many creates at the same time as many succeed as the quota leaves room for; the others are *QuotaError and leave nothing.",
		func(f *fixture) {
			room := int64(crowd() / 3)
			f.quota(settings.NamespaceSettings{MaxPending: room})
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec(numbered(i))
			}
			var made atomic.Int64
			f.together(func(i int) {
				switch r := f.one(task.Create{Spec: specs[i]}); {
				case r.Err == nil:
					made.Add(1)
				case !full(r.Err, task.QuotaPending):
					f.Errorf("create: %v", r.Err)
				}
			})
			if n := len(f.list(ns(), task.Page{Limit: 100})); made.Load() != room || n != int(room) {
				f.Errorf("%d were created, %d are there, the quota is %d", made.Load(), n, room)
			}
		},
	},
	{
		"a task that leaves makes room",
		"A finished task does not count as pending. A call that adds nothing is never refused: settle, patch, cancel, replace.",
		func(f *fixture) {
			a := f.create("a", at(start))
			f.create("b")
			f.create("c")
			f.quota(settings.NamespaceSettings{MaxPending: 2}) // fewer than there are
			f.wantFull(task.Create{Spec: f.spec("d")}, task.QuotaPending)
			f.must(start, task.Replace{Spec: f.spec("b")})
			f.claim(start, a, "token")
			f.settle(start, a, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			f.wantFull(task.Revive{Key: tasktest.Key("a")}, task.QuotaPending)
			f.must(start, task.Cancel{Key: tasktest.Key("b")})
			f.must(start, task.Revive{Key: tasktest.Key("a")})
			f.wantFull(task.Replace{Spec: f.spec("b")}, task.QuotaPending)
			f.create("elsewhere", namespace("other"))
		},
	},
	{
		"bytes are counted",
		"MaxBytes bounds the records that are kept, as they are stored: bodies, and URLs, headers, labels and finished tasks too.",
		func(f *fixture) {
			limit := func(n int64) { f.quota(settings.NamespaceSettings{MaxBytes: n}) }
			n := f.create("a", tasktest.Text("0123456789")).Stored()
			limit(2 * n)
			f.wantFull(task.Create{Spec: f.spec("b", tasktest.Text("0123456789+"))}, task.QuotaBytes)
			f.create("b", tasktest.Text("012345678"))
			f.must(start, task.Patch{Key: tasktest.Key("b"), Body: &task.Body{Kind: task.TextBody, Bytes: []byte("0123456789")}})
			f.wantFull(task.Patch{Key: tasktest.Key("b"), Body: &task.Body{Kind: task.TextBody, Bytes: []byte("0123456789+")}}, task.QuotaBytes)
			long := "a label"
			f.wantFull(task.Patch{Key: tasktest.Key("b"), Labels: map[string]*string{"x": &long}}, task.QuotaBytes)
			f.wantFull(task.Patch{Key: tasktest.Key("b"), Headers: map[string]*string{"x-more": &long}}, task.QuotaBytes)
			f.must(start, task.Cancel{Key: tasktest.Key("a")}) // its body is removed, its record stays
			f.wantFull(task.Create{Spec: f.spec("c", tasktest.Bodiless)}, task.QuotaBytes)
			limit(3*n - 10)
			f.create("d", tasktest.Text("9876543210"))
		},
	},
	{
		"a suspended namespace takes nothing new",
		"New pending tasks are refused, and new schedules do not fire. Existing tasks can be cancelled and changed.",
		func(f *fixture) {
			f.create("a")
			b := f.create("b", at(start))
			f.claim(start, b, "token")
			f.settle(start, b, "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			f.quota(settings.NamespaceSettings{Suspended: true})
			for _, c := range []task.Change{task.Create{Spec: f.spec("c")}, task.Replace{Spec: f.spec("c")}, task.Revive{Key: tasktest.Key("b")}} {
				if r := f.apply(start, c); !errors.Is(r.Err, task.ErrSuspended) {
					f.Errorf("%T: %v", c, r.Err)
				}
			}
			if s := f.schedule("nightly", 5*time.Second); !errors.Is(f.fire(start+5000, s).Err, task.ErrNotDue) {
				f.Errorf("the new schedule fired")
			}
			f.must(start, task.Replace{Spec: f.spec("a")})
			f.must(start, task.Cancel{Key: tasktest.Key("a")})
			f.create("elsewhere", namespace("other"))
			f.quota(settings.NamespaceSettings{})
			f.create("c")
		},
	},
	{
		"a refused change leaves nothing",
		"A change beyond the quota is refused as a whole: no record, no body, no key, and no harm to its batch.",
		func(f *fixture) {
			f.quota(settings.NamespaceSettings{MaxPending: 1})
			r := f.batch(start, task.Create{Spec: f.spec("a")}, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "r")}, task.Cancel{Key: tasktest.Key("a")}, task.Create{Spec: f.spec("c"), Idempotency: idem("k", "r")})
			for i, want := range []bool{false, true, false, false} {
				if full(r[i].Err, task.QuotaPending) != want || !want && r[i].Err != nil {
					f.Errorf("change %d: %v", i, r[i].Err)
				}
			}
		},
	},
}

// quota sets the quotas of the default namespace.
func (f *fixture) quota(n settings.NamespaceSettings) {
	f.Helper()
	n.Name = task.DefaultNamespace
	f.edit(settings.PutNamespace{Settings: n})
}

// wantFull applies a change that a quota must refuse.
func (f *fixture) wantFull(c task.Change, quota string) {
	f.Helper()
	if r := f.apply(start, c); !full(r.Err, quota) || r.Task != nil {
		f.Fatalf("%T of %q: %v, want the quota %s", c, c.Target().Name, r.Err, quota)
	}
}

func full(err error, quota string) bool {
	e, ok := errors.AsType[*task.QuotaError](err)
	return ok && e.Quota == quota && e.Namespace == task.DefaultNamespace
}
