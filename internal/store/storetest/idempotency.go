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
		"a repeat is answered with the task it made",
		"The same key and request again: Repeated, the same record, nothing written, also when the task has moved on.",
		func(f *fixture) {
			first := task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")}
			made := f.must(start, first)
			again := task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")}
			if r := f.apply(start+9, again); r.Err != nil || r.Effect != task.Repeated || r.Task.ID != made.ID || r.Task.Due != made.Due {
				f.Fatalf("repeat: effect %d, error %v, task %+v", r.Effect, r.Err, r.Task)
			}
			f.must(start, task.Cancel{Key: tasktest.Key("a")})
			if r := f.apply(start+9, again); r.Err != nil || r.Effect != task.Repeated || r.Task.State != task.Cancelled {
				f.Fatalf("repeat after the task ended: effect %d, error %v", r.Effect, r.Err)
			}
		},
	},
	{
		"the same key with another request is refused",
		"A different fingerprint is ErrIdempotencyReuse: the client mixed up its keys, and must not get a reply about a task it did not request.",
		func(f *fixture) {
			made := f.must(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")})
			if r := f.apply(start, task.Create{Spec: f.spec("a", tasktest.Text("x")), Idempotency: idem("k", "another")}); !errors.Is(r.Err, task.ErrIdempotencyReuse) {
				f.Fatalf("another request: %v", r.Err)
			}
			f.same("the record", f.get("a"), made)
		},
	},
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
		"another key does not open a taken name",
		"A create with a key of its own, or without one, of a name that exists is ErrExists.",
		func(f *fixture) {
			f.must(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "request")})
			f.create("b")
			for _, c := range []task.Create{
				{Spec: f.spec("a"), Idempotency: idem("k2", "request")},
				{Spec: f.spec("a")},
				{Spec: f.spec("b"), Idempotency: idem("k2", "request")},
			} {
				if r := f.apply(start, c); !errors.Is(r.Err, task.ErrExists) {
					f.Errorf("create %q: %v", c.Spec.Name, r.Err)
				}
			}
			f.must(start, task.Create{Spec: f.spec("d"), Idempotency: idem("k2", "request")}) // the refused changes took no key
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
	{
		"a replace does not take the key of another request",
		"With the key of another name, or of another request for the name, a replace is ErrIdempotencyReuse and changes nothing.",
		func(f *fixture) {
			made := f.must(start, task.Replace{Spec: f.spec("a"), Idempotency: idem("k", "request")})
			f.must(start, task.Create{Spec: f.spec("b"), Idempotency: idem("k2", "request")})
			for _, c := range []task.Change{
				task.Replace{Spec: f.spec("a"), Idempotency: idem("k", "another")},
				task.Replace{Spec: f.spec("a"), Idempotency: idem("k2", "request")},
				task.Create{Spec: f.spec("c"), Idempotency: idem("k", "request")},
				task.Replace{Spec: f.spec("c"), Idempotency: idem("k", "request")},
			} {
				if r := f.apply(start, c); !errors.Is(r.Err, task.ErrIdempotencyReuse) {
					f.Errorf("%T of %q: %v", c, c.Target().Name, r.Err)
				}
			}
			f.same("the record", f.get("a"), made)
		},
	},
	{
		"a repeat within one batch is a repeat",
		"Changes of one batch are carried out in order and see each other.",
		func(f *fixture) {
			spec := f.spec("a")
			c := task.Create{Spec: spec, Idempotency: idem("k", "request")}
			r := f.batch(start, c, c, task.Create{Spec: f.spec("b"), Idempotency: idem("k", "request")})
			if r[0].Effect != task.Created || r[1].Effect != task.Repeated || !errors.Is(r[2].Err, task.ErrIdempotencyReuse) {
				f.Fatalf("effects %d, %d and error %v", r[0].Effect, r[1].Effect, r[2].Err)
			}
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
