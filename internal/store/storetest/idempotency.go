package storetest

import (
	"errors"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// idempotencyCases: a client that got no reply asks again with the same key. It
// must not get a second task, even if other changes came in between.
var idempotencyCases = []testCase{
	{
		"the same key under another name is refused",
		"A key names one task of a namespace. This is looked at first: ErrIdempotencyReuse also where the other name exists already.",
		func(f *fixture) {
			f.must(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")})
			f.must(start, task.Create{Spec: f.spec("c"), Idempotency: idem("k2", "request")})
			for _, name := range []string{"b", "c"} {
				if r := f.apply(start, task.Create{Spec: f.spec(name), Idempotency: idem("k", "request")}); !errors.Is(r.Err, task.ErrIdempotencyReuse) {
					f.Errorf("create %q with the key of a: %v", name, r.Err)
				}
			}
			if _, err := f.store.Get(f.Context(), tasktest.Key("b")); !errors.Is(err, task.ErrNotFound) {
				f.Errorf("the refused create left b: %v", err)
			}
			f.must(start, task.Create{Spec: f.spec("b", namespace("other")), Idempotency: idem("k", "request")})
		},
	},
	{
		"a key is free again with its record",
		"The key lives as long as the record that it made: a replace or the sweep frees it.",
		func(f *fixture) {
			f.must(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")})
			f.must(start, task.Replace{Spec: f.spec("a")})
			f.must(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "request")})
			f.must(start, task.Cancel{Key: tasktest.Key("b")})
			f.sweep(start.Add(Policy.KeepFinished), 1)
			f.must(start, task.Create{Spec: f.spec("c"), Idempotency: idem("k", "request")})
			if r := f.apply(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "request")}); !errors.Is(r.Err, task.ErrIdempotencyReuse) {
				f.Fatalf("the key is c's now, a create of b with it: %v", r.Err)
			}
		},
	},
	{
		"a repeat is found without the request",
		"Repeat returns the record that the request made, in its present state, and writes nothing. For a request that made no record the error is ErrNotFound, for one with another request's key ErrIdempotencyReuse.",
		func(f *fixture) {
			repeat := func(name, key, print string) task.Change {
				return task.Repeat{Key: f.spec(name).Key, Idempotency: idem(key, print)}
			}
			fails := func(c task.Change, want error) {
				if r := f.apply(start+9, c); !errors.Is(r.Err, want) {
					f.Fatalf("%+v: %v, not %v", c, r.Err, want)
				}
			}
			fails(repeat("a", "k", "request"), task.ErrNotFound)
			made := f.must(start, task.Create{Spec: f.spec("a", at(start)), Idempotency: idem("k", "request")})
			f.wantRepeated(repeat("a", "k", "request"), made.ID, task.Scheduled)
			fails(repeat("a", "k2", "request"), task.ErrNotFound)
			fails(repeat("a", "k", "other"), task.ErrIdempotencyReuse)
			f.claim(start, made, "token")
			f.wantRepeated(repeat("a", "k", "request"), made.ID, task.Running)
			f.must(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k2", "request")}) // a Repeat takes no key
		},
	},
	{
		"the repeat of a replace changes nothing",
		"The same key and request again: Repeated, with the record as it is, also after the task was delivered or another replace came in between. So it is never delivered twice.",
		func(f *fixture) {
			first := func() task.Change {
				return task.Replace{Spec: f.spec("a", at(start)), If: task.Precondition{IfNoneMatch: true}, Idempotency: idem("k", "request")}
			}
			made := f.must(start, first())
			f.wantRepeated(first(), made.ID, task.Scheduled)
			f.claim(start, made, "token")
			f.wantRepeated(first(), made.ID, task.Running)
			f.settle(start, made, "token", task.Outcome{Verdict: task.Success, Status: 200})
			f.wantRepeated(first(), made.ID, task.Delivered)
			second := f.must(start, task.Replace{Spec: f.spec("a", at(start)), Idempotency: idem("k2", "request")})
			f.wantRepeated(first(), second.ID, task.Scheduled)
			third := f.must(start, task.Replace{Spec: f.spec("a", at(start))})
			f.wantRepeated(first(), third.ID, task.Scheduled)
			f.same("the record", f.get("a"), third)
			f.must(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "request")}) // no record has the key: it is free
		},
	},
}

// wantRepeated fails the case unless c is the repeat of a change whose task has
// that id and state now.
func (f *fixture) wantRepeated(c task.Change, id string, s task.State) {
	f.Helper()
	if r := f.apply(start+9, c); r.Err != nil || r.Effect != task.Repeated || r.Task.ID != id || r.Task.State != s {
		f.Fatalf("repeat: effect %d, error %v, task %+v, want id %s, %v", r.Effect, r.Err, r.Task, id, s)
	}
}

// idem returns the idempotency mark of a key and a request.
func idem(k, request string) *task.Idempotency {
	return &task.Idempotency{Key: task.Digest([]byte(k)), Fingerprint: task.Digest([]byte(request))}
}

// sweep sweeps until nothing is left and fails the case unless want records
// were removed.
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
