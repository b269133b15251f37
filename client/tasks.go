package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
)

// Tasks manages the tasks of the client's namespace.
type Tasks struct{ conn *conn }

// Create creates a task and returns it without the body. The call carries an
// Idempotency-Key of its own, so it can be repeated if its reply is lost. A
// task without a name gets one that is derived from the key.
//
// Errors: ErrExists, ErrFull, ErrRateLimited, and an Error with the invalid
// field of the spec.
func (ts Tasks) Create(ctx context.Context, s Spec) (*Task, error) {
	return ts.CreateOnce(ctx, rand.Text(), s)
}

// CreateOnce is Create with a key chosen by the caller, 1 to 256 printable
// ASCII characters. All calls with one key, from any process, create and return
// one task, as long as its record is kept. With the same key and another spec
// it returns ErrKeyReused.
func (ts Tasks) CreateOnce(ctx context.Context, key string, s Spec) (*Task, error) {
	op := "create " + cmp.Or(s.Name, "a task")
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, badBody(op, err)
	}
	return ts.one(ctx, &call{
		op: op, method: http.MethodPost, path: "/tasks", body: body,
		header: http.Header{"Idempotency-Key": {key}}, repeatable: key != "",
	})
}

// Put creates the task that s names, or replaces it. If an attempt of the old
// task is under way, the new task starts after that attempt has ended. Put
// returns the task without the body. The call carries an Idempotency-Key of its
// own: a repeat changes nothing and sends nothing twice.
//
// Errors: ErrPrecondition, and those of Create.
func (ts Tasks) Put(ctx context.Context, s Spec, conds ...Condition) (*Task, error) {
	return ts.PutOnce(ctx, rand.Text(), s, conds...)
}

// PutOnce is Put with a key chosen by the caller, as CreateOnce is Create. The
// first call puts the task. Later calls change nothing and return the task as
// it is then, even if it is finished or was replaced by another Put. The server
// remembers the keys of the last few Puts of a name, as long as it keeps the
// task's record. With the same key and another spec it returns ErrKeyReused.
func (ts Tasks) PutOnce(ctx context.Context, key string, s Spec, conds ...Condition) (*Task, error) {
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, badBody("put "+cmp.Or(s.Name, "a task"), err)
	}
	header := headerOf(conds)
	header.Set("Idempotency-Key", key)
	return ts.named(ctx, "put", s.Name, &call{method: http.MethodPut, body: body, header: header, repeatable: key != ""})
}

// Get returns a task, with its body. Errors: ErrNotFound.
func (ts Tasks) Get(ctx context.Context, name string) (*Task, error) { return ts.Poll(ctx, name, 0) }

// Patch changes some fields of a task and returns it without the body; the due
// time cannot change while an attempt is under way. Errors: ErrNotFound,
// ErrPrecondition, ErrConflict, and an Error with the invalid field of the
// patch.
func (ts Tasks) Patch(ctx context.Context, name string, p Patch, conds ...Condition) (*Task, error) {
	body, err := p.encode()
	if err != nil {
		return nil, badBody("patch "+name, err)
	}
	return ts.named(ctx, "patch", name, &call{method: http.MethodPatch, body: body, header: headerOf(conds)})
}

// Touch moves the due time of a task that was created with a delay, so it
// becomes due that delay from now, with all its attempts again: a watchdog's
// heartbeat. Errors: ErrNotFound, ErrPrecondition, ErrConflict.
func (ts Tasks) Touch(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ts.act(ctx, name, "touch", len(conds) == 0, conds)
}

// Run makes a waiting task due now; the task ignores pause and rate, but not
// concurrency. Errors: ErrNotFound, ErrPrecondition, ErrConflict.
func (ts Tasks) Run(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ts.act(ctx, name, "run", false, conds)
}

// Retry restarts a dead task: it is due now, with all its attempts again and
// the same id. Retry also sends a delivered, cancelled or expired task again,
// under the same id, if its queue kept the body (QueueSettings.KeepBodies).
// Errors: ErrNotFound, ErrPrecondition, ErrConflict.
func (ts Tasks) Retry(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ts.act(ctx, name, "retry", false, conds)
}

func (ts Tasks) act(ctx context.Context, name, verb string, repeatable bool, conds []Condition) (*Task, error) {
	return ts.named(ctx, verb, name, &call{method: http.MethodPost, path: "/" + verb, header: headerOf(conds), repeatable: repeatable})
}

// Cancel cancels a task. If underWay, which is t.UnderWay, is false, no attempt
// starts any more. If it is true, an attempt is in progress, or may be; that
// attempt is the last one, and the task ends delivered or cancelled. A task
// that was cancelled before stays as it is (Task.Already). Errors: ErrNotFound,
// ErrPrecondition, and ErrConflict if the task is delivered or expired.
func (ts Tasks) Cancel(ctx context.Context, name string, conds ...Condition) (t *Task, underWay bool, err error) {
	t, got, err := named[Task](ctx, ts.conn, "cancel", "/tasks/", name, &call{method: http.MethodDelete, header: headerOf(conds), repeatable: len(conds) == 0})
	return t, got.status == http.StatusAccepted, err
}

// named sends a call about one task, with its path after the task's.
func (ts Tasks) named(ctx context.Context, verb, name string, c *call) (*Task, error) {
	t, _, err := named[Task](ctx, ts.conn, verb, "/tasks/", name, c)
	return t, err
}

// one sends a call whose reply is a task.
func (ts Tasks) one(ctx context.Context, c *call) (*Task, error) {
	t := new(Task)
	c.into = t
	_, err := ts.conn.do(ctx, c)
	return orNil(t, err)
}

// Condition must hold when the server applies a change. Otherwise the call
// changes nothing and returns ErrPrecondition. The methods with a parameter
// conds take conditions: most changes of one task or schedule, Put and Delete
// of a queue, and Put of a namespace.
type Condition struct{ header, value string }

// IfMatch requires that no client changed the record since it had that entity
// tag. The ETag methods of Task, Schedule, Queue and Namespace return it, and
// "*" requires that the record exists.
func IfMatch(etag string) Condition { return Condition{"If-Match", etag} }

// IfNoneMatch requires that the record does not exist: a Put with it only
// creates.
func IfNoneMatch() Condition { return Condition{"If-None-Match", "*"} }

func headerOf(conds []Condition) http.Header {
	h := http.Header{}
	for _, c := range conds {
		h.Add(c.header, c.value)
	}
	return h
}
