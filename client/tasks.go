package client

import (
	"cmp"
	"context"
	"net/http"

	"github.com/foliot/foliot/client/internal/conn"
)

// Tasks manages the tasks of the client's namespace.
type Tasks struct{ conn *connection }

// Create creates a task and returns it without the body. The call carries an
// Idempotency-Key of its own, so it can be repeated if its reply is lost. A
// task without a name gets one that is derived from the key.
//
// Errors: ErrExists, ErrFull, ErrRateLimited, and an Error with the invalid
// field of the spec. Options: Key.
func (ts Tasks) Create(ctx context.Context, s Spec, opts ...CallOption) (*Task, error) {
	c, err := createCall(s, opts)
	if err != nil {
		return nil, err
	}
	return ts.one(ctx, c)
}

func createCall(s Spec, opts []CallOption) (*conn.Call, error) {
	op := "create " + cmp.Or(s.Name, "a task")
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, badBody(op, err)
	}
	return &conn.Call{
		Op: op, Method: http.MethodPost, Path: "/tasks", Body: body, Takes: "Key", Options: keyed(opts), Repeatable: true, Batch: "create",
	}, nil
}

// Put creates the task that s names, or replaces it. If an attempt of the old
// task is under way, the new task starts after that attempt has ended. Put
// returns the task without the body. The call carries an Idempotency-Key of its
// own: a repeat changes nothing and sends nothing twice.
//
// Errors: ErrPrecondition, and those of Create. Options: Key, IfMatch,
// IfNoneMatch.
func (ts Tasks) Put(ctx context.Context, s Spec, opts ...CallOption) (*Task, error) {
	c, err := putCall(s, opts)
	if err != nil {
		return nil, err
	}
	return ts.one(ctx, c)
}

func putCall(s Spec, opts []CallOption) (*conn.Call, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, badBody("put "+cmp.Or(s.Name, "a task"), err)
	}
	c := &conn.Call{Method: http.MethodPut, Body: body, Takes: "Key IfMatch IfNoneMatch", Options: keyed(opts), Repeatable: true, Batch: "put"}
	return c.About("put", tasksPath, s.Name), nil
}

const tasksPath = "/tasks/"

// Get returns a task, with its body. Errors: ErrNotFound.
func (ts Tasks) Get(ctx context.Context, name string) (*Task, error) { return ts.Poll(ctx, name, 0) }

// Patch changes some fields of a task and returns it without the body; the due
// time cannot change while an attempt is under way. Errors: ErrNotFound,
// ErrPrecondition, ErrConflict, and an Error with the invalid field of the
// patch. Options: IfMatch.
func (ts Tasks) Patch(ctx context.Context, name string, p Patch, opts ...CallOption) (*Task, error) {
	body, err := p.encode()
	if err != nil {
		return nil, badBody("patch "+name, err)
	}
	return ts.named(ctx, "patch", name, &conn.Call{Method: http.MethodPatch, Body: body, Takes: "IfMatch", Options: given(opts)})
}

// Touch moves the due time of a task that was created with a delay, so it
// becomes due that delay from now, with all its attempts again: a watchdog's
// heartbeat. Errors: ErrNotFound, ErrPrecondition, ErrConflict. Options:
// IfMatch.
func (ts Tasks) Touch(ctx context.Context, name string, opts ...CallOption) (*Task, error) {
	c := act("touch", opts)
	c.Batch, c.Repeatable = "touch", !conn.Conditional(given(opts))
	return ts.named(ctx, "touch", name, c)
}

// Run makes a waiting task due now; the task ignores pause and rate, but not
// concurrency. Errors: ErrNotFound, ErrPrecondition, ErrConflict. Options:
// IfMatch.
func (ts Tasks) Run(ctx context.Context, name string, opts ...CallOption) (*Task, error) {
	return ts.named(ctx, "run", name, act("run", opts))
}

// Retry restarts a dead task: it is due now, with all its attempts again and
// the same id. Retry also sends a delivered, cancelled or expired task again,
// under the same id, if its queue kept the body (QueueSettings.KeepBodies).
// Errors: ErrNotFound, ErrPrecondition, ErrConflict. Options: IfMatch.
func (ts Tasks) Retry(ctx context.Context, name string, opts ...CallOption) (*Task, error) {
	return ts.named(ctx, "retry", name, act("retry", opts))
}

func act(verb string, opts []CallOption) *conn.Call {
	return &conn.Call{Method: http.MethodPost, Path: "/" + verb, Takes: "IfMatch", Options: given(opts)}
}

// Cancelled is the result of a cancel.
type Cancelled struct {
	Task *Task
	// UnderWay reports that an attempt is in progress, or may be. That attempt
	// is the last one, and the task ends delivered or cancelled. If UnderWay is
	// false, no attempt starts any more.
	UnderWay bool
	Already  bool // the task was cancelled before, and stays as it is
}

// Cancel cancels a task. Errors: ErrNotFound, ErrPrecondition, and ErrConflict
// if the task is delivered or expired. Options: IfMatch.
func (ts Tasks) Cancel(ctx context.Context, name string, opts ...CallOption) (Cancelled, error) {
	t, err := ts.one(ctx, cancelCall(name, opts))
	if err != nil {
		return Cancelled{}, err
	}
	return Cancelled{Task: t, UnderWay: t.UnderWay, Already: t.Already}, nil
}

func cancelCall(name string, opts []CallOption) *conn.Call {
	c := &conn.Call{Method: http.MethodDelete, Takes: "IfMatch", Options: given(opts), Repeatable: !conn.Conditional(given(opts)), Batch: "cancel"}
	return c.About("cancel", tasksPath, name)
}

// named sends a call about one task, with its path after the task's.
func (ts Tasks) named(ctx context.Context, verb, name string, c *conn.Call) (*Task, error) {
	t, _, err := conn.Named[Task](ctx, ts.conn, verb, tasksPath, name, c)
	return t, err
}

// one sends a call whose reply is a task.
func (ts Tasks) one(ctx context.Context, c *conn.Call) (*Task, error) {
	t := new(Task)
	c.Into = t
	_, err := ts.conn.Do(ctx, c)
	return conn.OrNil(t, err), err
}
