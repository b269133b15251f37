// Package tasktest makes the specs, records and changes of tests.
package tasktest

import (
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// Key returns the key of a task in the default namespace.
func Key(name string) task.Key { return task.Key{Namespace: task.DefaultNamespace, Name: name} }

// Spec returns a valid spec with the id "id-NAME" and the body "body of NAME".
// It panics if an edit makes it invalid.
func Spec(name string, due task.Millis, edits ...func(*task.Spec)) task.Spec {
	s := task.DefaultSpec()
	s.Key, s.ID, s.When = Key(name), "id-"+name, task.When{At: due}
	s.Request.URL = "https://receiver.example/hook"
	Text("body of " + name)(&s)
	for _, edit := range edits {
		edit(&s)
	}
	if err := s.Validate(due); err != nil { // it sets the destination too
		panic(fmt.Sprintf("tasktest: the spec of %q: %v", name, err))
	}
	return s
}

// Text gives a spec a text as its body.
func Text(body string) func(*task.Spec) {
	return func(s *task.Spec) {
		s.Request.BodyKind, s.Request.Body, s.Request.BodySize = task.TextBody, []byte(body), len(body)
	}
}

// Bodiless leaves the body of a spec out.
func Bodiless(s *task.Spec) {
	s.Request.BodyKind, s.Request.Body, s.Request.BodySize = task.NoBody, nil, 0
}

// Made returns the record that a create at a time makes of a spec.
func Made(s task.Spec, now task.Millis) *task.Task {
	r, err := task.Create{Spec: s}.Apply(now, nil, task.Facts{})
	if err != nil {
		panic(fmt.Sprintf("tasktest: a create of %q: %v", s.Name, err))
	}
	return r.Task
}

// Creates returns changes that create n tasks. Their names are the prefix and
// a number from 0 on. edit, which may be nil, gets each number and its spec.
func Creates(prefix string, n int, due task.Millis, edit func(i int, s *task.Spec)) []task.Change {
	changes := make([]task.Change, n)
	for i := range changes {
		changes[i] = task.Create{Spec: Spec(fmt.Sprint(prefix, i), due, func(s *task.Spec) {
			if edit != nil {
				edit(i, s)
			}
		})}
	}
	return changes
}

// Cancels returns changes that cancel the targets of changes.
func Cancels(changes []task.Change) []task.Change {
	cancels := make([]task.Change, len(changes))
	for i, c := range changes {
		cancels[i] = task.Cancel{Key: c.Target()}
	}
	return cancels
}

// Claim returns a claim of a task in its present lane.
func Claim(t *task.Task, token task.Token, until task.Millis) task.Claim {
	return task.Claim{Key: t.Key(), Lane: t.Lane(), Token: token, Until: until}
}
