package storetest

import (
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// quotaCases: a namespace gets the full amount that its quotas allow, to the
// task and the byte, and no delivery ever fails because of a quota.
var quotaCases = []testCase{
	{
		"a create that is refused uses up no quota",
		"A store may count a create before it knows whether the name is free. If the name is taken, another create of the call gets the room.",
		func(f *fixture) {
			f.quota(settings.NamespaceSettings{MaxPending: 2})
			f.create("a")
			made := 0
			for i, r := range f.batch(start, task.Create{Spec: f.spec("a")}, task.Replace{Spec: f.spec("b")}, task.Replace{Spec: f.spec("c")}) {
				if r.Err == nil {
					made++
				} else if i > 0 && !full(r.Err, task.QuotaPending) {
					f.Errorf("change %d: %v", i, r.Err)
				}
			}
			if made != 1 {
				f.Errorf("%d were made, and there was room for one", made)
			}
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
