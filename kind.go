package foliot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Kind is a sort of task: its name in the store and the type of its arguments.
// It is usually a package variable, which both the code that creates tasks and
// the code that handles them use.
type Kind[A any] struct {
	name     string
	defaults []Option
}

// NewKind returns a kind. The name is stored with each task: it must not change
// while tasks of the kind wait. It has 1 to 128 letters, digits and . _ : -
// characters. The arguments are stored as JSON. So a field of A can be added or
// removed while tasks wait, as with any stored JSON.
func NewKind[A any](name string, defaults ...Default) Kind[A] {
	return Kind[A]{name, defaults}
}

// Name returns the name of the kind.
func (k Kind[A]) Name() string { return k.name }

// Task is one attempt of a task, as its handler gets it.
type Task[A any] struct {
	Name    string // unique in the namespace: a key for what must happen only once
	Args    A
	Attempt int       // from 1; snoozed attempts count too
	Due     time.Time // the due time of this attempt; it has passed
	Queue   string
	Labels  map[string]string
}

// Handle sets the handler of the kind. A second handler of the same kind is a
// mistake in the program, and Handle panics. The package documentation lists
// the results of a handler.
func (k Kind[A]) Handle(m *Mux, handle func(context.Context, *Task[A]) error, limits ...Limit) {
	m.handle(k.name, func(ctx context.Context, c *Call) error {
		t := &Task[A]{Name: c.Name, Attempt: c.Attempt, Due: c.Due, Queue: c.Queue, Labels: c.Labels}
		if len(c.Args) > 0 {
			if err := json.Unmarshal(c.Args, &t.Args); err != nil {
				return fmt.Errorf("the arguments do not decode: %w", err)
			}
		}
		return handle(ctx, t)
	}, limits)
}

// In creates a task that is due after d. The name has 1 to 256 letters, digits
// and . _ : - characters, and begins with a letter or digit. Errors: ErrExists if the store still
// has a task of that name, even if that has ended, and those of every call:
// ErrInvalid, ErrFull, ErrUnavailable. After ErrUnavailable the task may have
// been created: repeat the call, and take ErrExists as success.
func (k Kind[A]) In(ctx context.Context, s Scheduler, name string, d time.Duration, args A, options ...Option) (Info, error) {
	return k.create(ctx, s, name, In(d), args, options, false)
}

// At is In with a due time.
func (k Kind[A]) At(ctx context.Context, s Scheduler, name string, at time.Time, args A, options ...Option) (Info, error) {
	return k.create(ctx, s, name, At(at), args, options, false)
}

// Put creates a task, or replaces the task of that name. If a handler of the
// replaced task runs, the new task starts after the handler has returned. So a
// Put for each event, with a delay, debounces the events.
func (k Kind[A]) Put(ctx context.Context, s Scheduler, name string, w When, args A, options ...Option) (Info, error) {
	return k.create(ctx, s, name, w, args, options, true)
}

func (k Kind[A]) create(ctx context.Context, s Scheduler, name string, w When, args A, options []Option, replace bool) (Info, error) {
	r, err := k.request(name, args, options)
	if err != nil {
		return Info{}, err
	}
	r.when = w
	return s.create(ctx, r, replace)
}

// Schedule creates a schedule, or changes it to the rule r and these arguments.
// At each instant of the rule it creates a task with the name of the schedule,
// "@" and the instant. If nothing changes, Schedule writes nothing, so that a
// program can call it at each start.
func (k Kind[A]) Schedule(ctx context.Context, s Scheduler, name string, r Rule, args A, options ...Option) error {
	q, err := k.request(name, args, options)
	if err != nil {
		return err
	}
	return s.schedule(ctx, q, r)
}

func (k Kind[A]) request(name string, args A, options []Option) (*request, error) {
	if k.name == "" {
		return nil, &Error{Task: name, kind: ErrInvalid, detail: "the kind has no name: make it with NewKind"}
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil, &Error{Task: name, kind: ErrInvalid, detail: "the arguments do not encode as JSON: " + err.Error()}
	}
	return newRequest(name, k.name, data, k.defaults, options), nil
}
