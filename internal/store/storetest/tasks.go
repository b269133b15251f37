package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// taskCases: a client reads back its writes, one name has one record, and a
// refused change leaves no trace. internal/task tests the transition table,
// which decides the changes that each state allows.
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
		"a name that was never used is not found",
		"Get answers ErrNotFound, and so does every change of an existing task.",
		func(f *fixture) {
			f.create("a")
			if _, err := f.store.Get(f.Context(), tasktest.Key("b")); !errors.Is(err, task.ErrNotFound) {
				f.Errorf("Get: %v", err)
			}
			for _, c := range existing(tasktest.Key("b")) {
				if r := f.apply(start, c); !errors.Is(r.Err, task.ErrNotFound) || r.Task != nil {
					f.Errorf("%T: %v, %v", c, r.Task, r.Err)
				}
			}
			if _, err := f.store.Get(f.Context(), tasktest.Key("b")); !errors.Is(err, task.ErrNotFound) {
				f.Errorf("Get after the changes: %v", err)
			}
		},
	},
	{
		"a name is unique in its namespace only",
		"Key is namespace and name: tenants do not see, block or change each other.",
		func(f *fixture) {
			f.create("a", tasktest.Text("mine"))
			f.create("a", namespace("other"), tasktest.Text("theirs"))
			f.must(start, task.Cancel{Key: task.Key{Namespace: "other", Name: "a"}})
			if t := f.get("a"); t.State != task.Scheduled || string(t.Request.Body) != "mine" {
				f.Fatalf("cancelling other/a left default/a %v with body %q", t.State, t.Request.Body)
			}
		},
	},
	{
		"a patch keeps the body it does not name",
		"Bodies are stored apart: a change that carries none, of a record that has one, keeps the stored one.",
		func(f *fixture) {
			f.create("a", tasktest.Text("kept"))
			low := task.Low
			if t := f.must(start, task.Patch{Key: tasktest.Key("a"), Priority: &low}); t.Request.Body != nil {
				f.Errorf("the reply to a patch of the priority carries a body: it costs a read that the client did not request")
			}
			if got := f.get("a"); string(got.Request.Body) != "kept" || got.Priority != task.Low || got.Version != 2 {
				f.Fatalf("body %q, priority %v, version %d", got.Request.Body, got.Priority, got.Version)
			}
			t := f.must(start, task.Patch{Key: tasktest.Key("a"), Body: &task.Body{Kind: task.BinaryBody, Bytes: []byte{0, 255, 10}}})
			if string(t.Request.Body) != "\x00\xff\n" || string(f.get("a").Request.Body) != "\x00\xff\n" {
				f.Fatalf("the patched body: reply %q, stored %q", t.Request.Body, f.get("a").Request.Body)
			}
			f.must(start, task.Patch{Key: tasktest.Key("a"), Body: &task.Body{Kind: task.TextBody}})
			if got := f.get("a"); len(got.Request.Body) != 0 || got.Request.BodyKind != task.TextBody {
				f.Fatalf("after a patch to the empty body: %q, kind %d", got.Request.Body, got.Request.BodyKind)
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
		"a refused patch leaves no trace",
		"An error writes nothing: precondition, state or a field that is not valid.",
		func(f *fixture) {
			made := f.create("a")
			bad := "ftp://x"
			if r := f.apply(start, task.Patch{Key: tasktest.Key("a"), URL: &bad, Body: &task.Body{Kind: task.TextBody, Bytes: []byte("x")}}); !isFieldError(r.Err) || r.Task != nil {
				f.Fatalf("patch to a bad URL: %v, %v", r.Task, r.Err)
			}
			stale := task.Precondition{IfMatch: []string{"another.1"}}
			for _, c := range []task.Change{
				task.Patch{Key: tasktest.Key("a"), If: stale, URL: &made.Request.URL},
				task.Cancel{Key: tasktest.Key("a"), If: stale},
				task.Replace{Spec: f.spec("a"), If: stale},
				task.Replace{Spec: f.spec("a"), If: task.Precondition{IfNoneMatch: true}},
				task.Cancel{Key: tasktest.Key("a"), Only: &task.Filter{Queue: "another"}},
			} {
				if r := f.apply(start, c); !errors.Is(r.Err, task.ErrPrecondition) {
					f.Errorf("%T with a precondition that does not hold: %v", c, r.Err)
				}
			}
			f.same("the record after refused changes", f.get("a"), made)
		},
	},
}

// existing returns one change of each kind that needs an existing task.
func existing(k task.Key) []task.Change {
	low := task.Low
	return []task.Change{
		task.Patch{Key: k, Priority: &low}, task.Touch{Key: k}, task.Run{Key: k}, task.Revive{Key: k}, task.Cancel{Key: k},
	}
}

func isFieldError(err error) bool {
	_, ok := errors.AsType[*task.FieldError](err)
	return ok
}

func isStateError(err error) bool {
	_, ok := errors.AsType[*task.StateError](err)
	return ok
}
