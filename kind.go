package foliot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Kind is a sort of task: a name in the store, and the Go type of the arguments.
// A Kind is usually a package variable, which both the code that creates tasks
// and the code that handles them use.
type Kind[A any] struct {
	name    string
	options []Option
}

// NewKind returns a kind, with options that all its tasks have by default. The
// name is stored with each task, so it must not change while tasks of the kind
// wait. The name has 1 to 128 characters: letters, digits and . _ : - are
// allowed, and the first must be a letter or a digit. The arguments are stored as
// JSON, so a field of A can be added or removed while tasks wait, as with any
// stored JSON.
func NewKind[A any](name string, options ...Option) Kind[A] {
	return Kind[A]{name, options}
}

// Name returns the name of the kind.
func (k Kind[A]) Name() string { return k.name }

// Task is one attempt of a task, as its handler receives it. It is a copy: if
// the handler changes it, the stored task stays as it is.
type Task[A any] struct {
	// ID is the same for all attempts, and no other task ever has it: use it as the
	// idempotency key. A name can have another task later.
	ID        string
	Namespace string
	Name      string // unique in the namespace
	Args      A
	Attempt   int       // starts at 1; snoozed attempts count too
	Due       time.Time // the due time of this attempt, which a retry or Snooze moves; it has passed
	Queue     string
	Labels    map[string]string
	// Schedule is the schedule that created the task, "" if none did, and Instant is
	// the instant of the schedule, which is the same for all attempts. It is zero if
	// an operator triggered the schedule.
	Schedule string
	Instant  time.Time
}

// Handle sets the handler of the kind, before Open, which reports all mistakes:
// a second handler for a kind, a name that is not valid, a handle that is nil.
// Several goroutines call the handler at the same time; the package documentation
// lists its results.
func (k Kind[A]) Handle(m *Mux, handle func(context.Context, *Task[A]) error) {
	m.handle(k.name, k.defaults().atOnce, handle == nil, func(ctx context.Context, c *Call) error {
		t := &Task[A]{
			ID: c.ID, Namespace: c.Namespace, Name: c.Name, Attempt: c.Attempt, Due: c.Due, Queue: c.Queue, Labels: c.Labels,
			Schedule: c.Schedule, Instant: c.Instant,
		}
		if len(c.Args) > 0 {
			if err := json.Unmarshal(c.Args, &t.Args); err != nil {
				return fmt.Errorf("cannot decode the arguments: %w", err)
			}
		}
		return handle(ctx, t)
	})
}

// In creates a task that is due after d. The name has 1 to 256 characters:
// letters, digits and . _ : - are allowed, and the first must be a letter or a
// digit. In returns ErrExists if the store has a task of that name, even one
// that has ended. Its other errors are ErrInvalid, ErrFull, ErrUnavailable and,
// after Node.Close, ErrClosed; a namespace can have a quota, so there are ErrQuota
// and ErrSuspended too. After ErrUnavailable the task may have been
// created: repeat the call. ErrExists is then a success if no earlier task can
// have the name.
func (k Kind[A]) In(ctx context.Context, s Scheduler, name string, d time.Duration, args A, options ...Option) (Info, error) {
	return one(s.CreateMany(ctx, []Item{k.Item(name, In(d), args, options...)}))
}

// At is like In, but creates a task that is due at the given time.
func (k Kind[A]) At(ctx context.Context, s Scheduler, name string, at time.Time, args A, options ...Option) (Info, error) {
	return one(s.CreateMany(ctx, []Item{k.Item(name, At(at), args, options...)}))
}

// Put creates a task, or replaces the task of that name. If a handler of the
// replaced task runs, the new task starts after that handler has returned. To
// debounce events, call Put with a delay for each event. Put does not return
// ErrExists, and its other errors are those of In.
func (k Kind[A]) Put(ctx context.Context, s Scheduler, name string, w When, args A, options ...Option) (Info, error) {
	return one(s.PutMany(ctx, []Item{k.Item(name, w, args, options...)}))
}

// one returns the result of a call with one item.
func one(results []Result, err error) (Info, error) {
	if len(results) != 1 {
		return Info{}, err
	}
	return results[0].Info, results[0].Err
}

// Schedule creates a schedule, or changes it to the rule r, these arguments and
// these options. At each instant of the rule, the schedule creates a task. Its
// name is that of the schedule, "@" and the instant. If nothing changes,
// Schedule writes nothing, so a program can call it at each start. Errors:
// ErrInvalid, ErrFull, ErrQuota, ErrSuspended, ErrUnavailable.
func (k Kind[A]) Schedule(ctx context.Context, s Scheduler, name string, r Rule, args A, options ...Option) error {
	return s.Schedule(ctx, r, k.Item(name, When{}, args, options...))
}
