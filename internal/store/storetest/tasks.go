package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store"
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
		"a second create is refused and changes nothing",
		"A create of a kept name is ErrExists, live, dead or finished.",
		func(f *fixture) {
			made := f.create("a")
			if r := f.apply(start+1, task.Create{Spec: f.spec("a", tasktest.Text("another"))}); !errors.Is(r.Err, task.ErrExists) {
				f.Fatalf("second create: %v", r.Err)
			}
			f.same("the record after the refused create", f.get("a"), made)
			f.must(start+2, task.Cancel{Key: tasktest.Key("a")})
			if r := f.apply(start+3, task.Create{Spec: f.spec("a")}); !errors.Is(r.Err, task.ErrExists) {
				f.Fatalf("create over a finished record: %v", r.Err)
			}
		},
	},
	{
		"a repeated cancel changes nothing and says so",
		"A cancel of a cancelled task is Repeated and Already, also with the precondition of the first one. It writes nothing.",
		func(f *fixture) {
			made := f.create("a")
			first := task.Cancel{Key: tasktest.Key("a"), If: task.Precondition{IfMatch: []string{made.ETag()}}}
			cancelled := f.must(start, first)
			for _, again := range []task.Change{task.Cancel{Key: tasktest.Key("a")}, first} {
				if r := f.apply(start+5, again); r.Err != nil || r.Effect != task.Repeated || !r.Already || r.UnderWay {
					f.Errorf("again: %+v", r)
				}
			}
			f.same("the record", f.get("a"), cancelled)
			older := task.Cancel{Key: tasktest.Key("a"), If: task.Precondition{IfMatch: []string{"id.0"}}}
			if r := f.apply(start+5, older); !errors.Is(r.Err, task.ErrPrecondition) {
				f.Errorf("with another version: %+v", r)
			}
		},
	},
	{
		"a refusal describes the existing task",
		"ErrExists and *StateError carry the id and the state of the record.",
		func(f *fixture) {
			made := f.create("a", at(start))
			f.claim(start, made, "token")
			f.settle(start, made, "token", task.Outcome{Verdict: task.Success, Status: 200})
			exists, ok := errors.AsType[*task.ExistsError](f.apply(start, task.Create{Spec: f.spec("a")}).Err)
			if !ok || exists.ID != made.ID || exists.State != task.Delivered {
				f.Errorf("a create: %+v", exists)
			}
			state, ok := errors.AsType[*task.StateError](f.apply(start, task.Cancel{Key: tasktest.Key("a")}).Err)
			if !ok || state.ID != made.ID || state.State != task.Delivered {
				f.Errorf("a cancel: %+v", state)
			}
		},
	},
	{
		"a change says that an old attempt may still begin",
		"A replace or a patch reports UnderWay if the task is claimed or has lost its lease, and not if it waits.",
		func(f *fixture) {
			patch := task.Patch{Key: tasktest.Key("a"), Labels: map[string]*string{"k": nil}}
			both := func(want bool) {
				f.Helper()
				for _, c := range []task.Change{patch, task.Replace{Spec: f.spec("a", at(start)), Idempotency: idem("k", "r")}} {
					if r := f.apply(start+100, c); r.Err != nil || r.UnderWay != want {
						f.Errorf("%T: under way %v, error %v, want %v", c, r.UnderWay, r.Err, want)
					}
				}
			}
			f.create("a", at(start))
			both(false)
			f.claim(start, f.get("a"), "token")
			both(true)
			if n, err := f.store.(store.Reaper).Reap(f.Context(), start+30_000, 9); err != nil || n != 1 {
				f.Fatalf("Reap: %d, %v", n, err)
			}
			both(true)
		},
	},
	{
		"a replace brings its own body",
		"A new incarnation takes over nothing of the old one: id, version, body and labels are its own.",
		func(f *fixture) {
			old := f.create("a", tasktest.Text("old"), labels(map[string]string{"old": "1"}))
			made := f.must(start+5, task.Replace{Spec: f.spec("a", tasktest.Text("new"))})
			got := f.get("a")
			f.same("the record after its replace", got, made)
			if got.ID == old.ID || string(got.Request.Body) != "new" || len(got.Labels) != 0 {
				f.Fatalf("id %s, body %q, labels %v", got.ID, got.Request.Body, got.Labels)
			}
			f.must(start+6, task.Replace{Spec: f.spec("a", tasktest.Bodiless)})
			if got := f.get("a"); len(got.Request.Body) != 0 || got.Request.BodySize != 0 {
				f.Fatalf("a replace without a body left %q", got.Request.Body)
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
	{
		"a cancelled task keeps its record and loses its body",
		"A finished record is for reading: state, reason and retention, no body.",
		func(f *fixture) {
			made := f.create("a")
			r := f.apply(start+7, task.Cancel{Key: tasktest.Key("a")})
			got := f.get("a")
			if r.Err != nil || r.Effect != task.Updated || got.State != task.Cancelled || got.KeepUntil != (start+7).Add(Policy.KeepFinished) {
				f.Fatalf("cancel: effect %d, error %v, state %v, kept until start+%d", r.Effect, r.Err, got.State, got.KeepUntil-start)
			}
			if got.Request.BodySize != 0 || len(got.Request.Body) != 0 {
				f.Fatalf("its body is still there: %q", got.Request.Body)
			}
			f.wantNames("its lane", waiting(f.peek(made.Lane(), made.Due)))
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
