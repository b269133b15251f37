package storetest

import (
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// orderCases: a change that several checks would refuse gets the same error from
// every store. The package kernel has the order of the checks.
var orderCases = []testCase{
	{
		"the first check that refuses gives the error",
		"The owner of the Idempotency-Key comes first, then the record, the namespace, and its quotas.",
		func(f *fixture) {
			f.must(start, task.Create{Spec: f.spec("owner"), Idempotency: idem("taken", "request")})
			f.create("exists")
			absent := func(s task.Spec) task.Spec {
				s.Namespace = "absent"
				return s
			}
			spec := map[string]task.Spec{"exists": f.spec("exists"), "new": f.spec("new"), "absent": absent(f.spec("new"))}
			match := task.Precondition{IfMatch: []string{"*"}}
			f.quota(settings.NamespaceSettings{MaxPending: 1}) // fewer than there are
			for _, c := range []struct {
				change task.Change
				want   func(error) bool
			}{
				{task.Create{Spec: spec["exists"], Idempotency: idem("taken", "request")}, is(task.ErrIdempotencyReuse)},
				{task.Create{Spec: spec["new"], Idempotency: idem("taken", "request")}, is(task.ErrIdempotencyReuse)},
				{task.Replace{Spec: spec["new"], Idempotency: idem("taken", "request"), If: match}, is(task.ErrIdempotencyReuse)},
				{task.Create{Spec: spec["exists"], Idempotency: idem("free", "request")}, is(task.ErrExists)},
				{task.Replace{Spec: spec["new"], If: match}, is(task.ErrPrecondition)},
				{task.Replace{Spec: spec["absent"], If: match}, is(task.ErrPrecondition)},
				{task.Create{Spec: spec["absent"]}, isMissing},
				{task.Create{Spec: spec["new"], Idempotency: idem("free", "request")}, func(err error) bool { return full(err, task.QuotaPending) }},
			} {
				if r := f.apply(start, c.change); !c.want(r.Err) || r.Task != nil {
					f.Errorf("%T of %q in %q: %v", c.change, c.change.Target().Name, c.change.Target().Namespace, r.Err)
				}
			}
		},
	},
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func isMissing(err error) bool {
	_, ok := errors.AsType[*settings.MissingError](err)
	return ok
}
