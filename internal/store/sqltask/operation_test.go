package sqltask

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// A transaction with millions of tasks leaves room for those of others, and is found later.
func TestTheNewestTasksAreTakenFirst(t *testing.T) {
	u := NewUnapplied()
	for i := range MaxUnapplied + MaxRows {
		u.Add(fmt.Sprint("default/old-", i))
	}
	u.Add("default/new", "default/new")
	u.Defer("default/locked")
	taken := map[string]bool{}
	for {
		keys, omitted := u.Take()
		if len(keys) == 0 {
			if !omitted {
				t.Error("some were omitted")
			}
			break
		}
		if newest := slices.Contains(keys, task.Key{Namespace: "default", Name: "new"}); newest != (len(taken) == 0) {
			t.Errorf("the newest one is among %v", keys)
		}
		for _, k := range keys {
			if taken[k.Name] {
				t.Errorf("%s was taken twice", k.Name)
			}
			taken[k.Name] = true
		}
	}
	if len(taken) != MaxUnapplied {
		t.Errorf("%d were taken", len(taken))
	}
	if keys, omitted := u.Take(); len(keys) > 0 || omitted {
		t.Error("it is reported again")
	}
	u.Defer("default/locked")
	u.Add("default/new")
	for _, want := range []string{"new", "locked"} { // not together
		if keys, _ := u.Take(); len(keys) != 1 || keys[0].Name != want {
			t.Errorf("%v were taken, not %s", keys, want)
		}
	}
}

// Tasks that stay locked, or are damaged, are deferred again and again. The caller looks for
// omitted ones all the same, now and then, even if the locked ones are many.
func TestDeferredTasksHideNoOmittedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locked := make([]string, MaxUnapplied*2/3)
		for i := range locked {
			locked[i] = fmt.Sprintf("default/%d", i)
		}
		u := NewUnapplied()
		for range 3 {
			u.Defer(locked...)
			u.Omit()
			if keys, omitted := u.Take(); len(keys) > 0 || !omitted {
				t.Errorf("%d were taken", len(keys))
			}
			u.Omit()
			if keys, omitted := u.Take(); len(keys) == 0 || omitted {
				t.Error("the deferred ones are not taken")
			}
			time.Sleep(time.Second + 1)
		}
	})
}

// An operation that no function has written must not hide the task.
func TestAnOperationThatCannotBeDecodedIsRefused(t *testing.T) {
	var f Found
	err := f.Pend(false, task.Key{Namespace: "default", Name: "a"}, []byte(`[{"op": "put", "id": "i", "url": "https://x.example/", "queue": "default", "priority": "normal", "now": 1, "due": 1, "timeout": "a while"}]`), settings.NewSettings(), task.Policy{})
	if err != nil || f.Task == nil || f.Task.State != task.Dead || f.Task.Reason != task.ReasonRefused {
		t.Errorf("%+v, %v", f.Task, err)
	}
}
