package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
)

// Tasks are a server's tasks, in the client's namespace.
type Tasks struct{ conn *conn }

// Create makes a task. It returns without the body. The call carries an Idempotency-Key of its own, so that it can be repeated
// when its answer is lost; a task without a name has a name that derives from it.
//
// Errors: ErrExists, ErrFull, ErrRateLimited, and an Error with the field of the spec that is wrong.
func (ts Tasks) Create(ctx context.Context, s Spec) (*Task, error) {
	return ts.CreateOnce(ctx, rand.Text(), s)
}

// CreateOnce is Create with a key of the caller's, 1 to 256 printable ASCII characters: however often it is called, from whichever process,
// one task is made, and returned, as long as its record is kept. The same key with another spec is refused with ErrKeyReused.
func (ts Tasks) CreateOnce(ctx context.Context, key string, s Spec) (*Task, error) {
	op := "create " + s.nameOr("a task")
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, refused(op, "bad_body", "http.body", err.Error())
	}
	return ts.one(ctx, &call{
		op: op, method: http.MethodPost, path: "/tasks", body: body,
		header: http.Header{"Idempotency-Key": {key}}, repeatable: key != "",
	})
}

func (s Spec) nameOr(words string) string {
	if s.Name == "" {
		return words
	}
	return s.Name
}

// Put creates the task that s names, or replaces it. Where an attempt of the old task is under way, the new one starts when that has settled. It
// returns without the body. The call carries an Idempotency-Key of its own, so that a repeat of it changes nothing and sends nothing twice.
//
// A server of an older version ignores the key. A repeat there puts the task again, and with a condition it is refused because of the first try's
// success: if [MaybeApplied] is true of an ErrPrecondition, look at the task.
//
// Errors: ErrPrecondition, and those of Create.
func (ts Tasks) Put(ctx context.Context, s Spec, conds ...Condition) (*Task, error) {
	return ts.PutOnce(ctx, rand.Text(), s, conds...)
}

// PutOnce is Put with a key of the caller's, as CreateOnce is Create: the first call puts the task, and each later one changes nothing and returns the
// task as it is then, also if it is finished or another Put has replaced it. The server remembers the keys of the last few Puts of a name, as long
// as it keeps the task's record. The same key with another spec is refused with ErrKeyReused.
func (ts Tasks) PutOnce(ctx context.Context, key string, s Spec, conds ...Condition) (*Task, error) {
	op := "put " + s.nameOr("a task")
	path, err := taskPath(op, s.Name)
	if err != nil {
		return nil, err
	}
	body, err := s.MarshalJSON()
	if err != nil {
		return nil, refused(op, "bad_body", "http.body", err.Error())
	}
	header := headerOf(conds)
	header.Set("Idempotency-Key", key)
	return ts.one(ctx, &call{op: op, method: http.MethodPut, path: path, body: body, header: header, repeatable: key != ""})
}

// Get returns a task, with its body. Errors: ErrNotFound.
func (ts Tasks) Get(ctx context.Context, name string) (*Task, error) { return ts.Poll(ctx, name, 0) }

// Patch changes some fields of a task; while an attempt is under way its due time cannot change. It returns without the body. Errors:
// ErrNotFound, ErrPrecondition, ErrConflict, and an Error with the field of the patch that is wrong.
func (ts Tasks) Patch(ctx context.Context, name string, p Patch, conds ...Condition) (*Task, error) {
	op := "patch " + name
	path, err := taskPath(op, name)
	if err != nil {
		return nil, err
	}
	body, err := p.encode()
	if err != nil {
		return nil, refused(op, "bad_body", "http.body", err.Error())
	}
	return ts.one(ctx, &call{op: op, method: http.MethodPatch, path: path, body: body, header: headerOf(conds)})
}

// Touch makes a task that was created with a delay due that delay from now, with all its attempts again: a watchdog's heartbeat.
// Errors: ErrNotFound, ErrPrecondition, ErrConflict.
func (ts Tasks) Touch(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ts.act(ctx, name, "touch", len(conds) == 0, conds)
}

// Run makes a waiting task due now: it passes pause and rate, not concurrency. Errors: ErrNotFound, ErrPrecondition, ErrConflict.
func (ts Tasks) Run(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ts.act(ctx, name, "run", false, conds)
}

// Retry gives a dead task a new life: due now, with all its attempts again and the same id. It sends a delivered, cancelled or expired one
// again, under the same id, if its queue kept its body (QueueSettings.KeepBodies). Errors: ErrNotFound, ErrPrecondition, ErrConflict.
func (ts Tasks) Retry(ctx context.Context, name string, conds ...Condition) (*Task, error) {
	return ts.act(ctx, name, "retry", false, conds)
}

func (ts Tasks) act(ctx context.Context, name, verb string, repeatable bool, conds []Condition) (*Task, error) {
	op := verb + " " + name
	path, err := taskPath(op, name)
	if err != nil {
		return nil, err
	}
	return ts.one(ctx, &call{op: op, method: http.MethodPost, path: path + "/" + verb, header: headerOf(conds), repeatable: repeatable})
}

// Cancel takes a task back. Where pending is false no attempt starts any more. Where it is true an attempt is, or may be, under way: it is the last one,
// and the task ends delivered or cancelled. A task that was cancelled before stays as it is (Task.Already). Errors: ErrNotFound, ErrPrecondition, ErrConflict (the task
// is delivered or expired).
func (ts Tasks) Cancel(ctx context.Context, name string, conds ...Condition) (t *Task, pending bool, err error) {
	op := "cancel " + name
	path, err := taskPath(op, name)
	if err != nil {
		return nil, false, err
	}
	t = new(Task)
	got, err := ts.conn.do(ctx, &call{op: op, method: http.MethodDelete, path: path, header: headerOf(conds), repeatable: len(conds) == 0, into: t})
	if err == nil {
		return t, got.status == http.StatusAccepted, nil
	}
	// A server of an older version refuses to cancel what is cancelled. A try before may have done it, and which of the two answers
	// that try had is lost: the careful one holds in any case.
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusConflict && e.MaybeApplied {
		if now, err := ts.Get(ctx, name); err == nil && now.State == Cancelled {
			return now, true, nil
		}
	}
	return nil, false, err
}

// one sends a call that is answered with a task.
func (ts Tasks) one(ctx context.Context, c *call) (*Task, error) {
	t := new(Task)
	c.into = t
	_, err := ts.conn.do(ctx, c)
	return orNil(t, err)
}

// Condition is what must hold for a change to be made; otherwise it is refused with ErrPrecondition. Schedules, queues and namespaces take them as
// tasks do.
type Condition struct{ header, value string }

// IfMatch asks that no client has changed the task since it had that entity tag: Task.ETag returns it. "*" asks that it exists.
func IfMatch(etag string) Condition { return Condition{"If-Match", etag} }

// IfNoneMatch asks that there is no such task: a Put with it creates only.
func IfNoneMatch() Condition { return Condition{"If-None-Match", "*"} }

func headerOf(conds []Condition) http.Header {
	h := http.Header{}
	for _, c := range conds {
		h.Add(c.header, c.value)
	}
	return h
}

// taskPath returns the path of a task.
func taskPath(op, name string) (string, error) { return below(op, "/tasks/", name) }

// below returns the path of what has that name. A server would take some names for a part of the path.
func below(op, path, name string) (string, error) {
	if name == "" || name == "." || name == ".." {
		return "", refused(op, "bad_name", "name", "a name has 1 to 256 characters and begins with a letter or digit")
	}
	return path + url.PathEscape(name), nil
}
