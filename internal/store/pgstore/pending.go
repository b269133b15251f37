package pgstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// operation is a change that an SQL function has left in the column pending of a task.
// Each read applies the operations in memory, and each write stores the result in their
// place. At the latest the owner of the shard writes them, when it reads their news.
type operation struct {
	Op  string      // put, cancel, move or touch
	By  string      // the role that called the function
	Now task.Millis // when it was called

	Due   task.Millis    // of a put or a move without a Delay
	Delay *time.Duration // of a put or a move

	// The fields of a put; nil and "" are the defaults of the queue.
	ID, URL, Method, Kind, Queue, Priority string
	Headers, Labels                        map[string]string
	Body                                   json.RawMessage
	Bytes                                  []byte
	Timeout, ExpireAfter                   *time.Duration
	MinBackoff, MaxBackoff, MaxAge         *time.Duration
	MaxAttempts                            *int
	OnDead                                 *string
}

// change returns the change that o asks for. The functions have checked o as far as
// they can, and err is the first error of the other checks.
func (o *operation) change(embedded bool, key task.Key, all *settings.Settings) (c task.Change, err error) {
	when := task.When{At: o.Due}
	if o.Delay != nil {
		when = task.When{Relative: true, Delay: *o.Delay}
	}
	switch o.Op {
	case "cancel":
		return task.Cancel{Key: key}, nil
	case "touch":
		return task.Touch{Key: key}, nil
	case "move":
		return task.Patch{Key: key, When: &when}, nil
	}
	s := all.Queue(key.Namespace, o.Queue).Spec()
	s.Key, s.ID, s.Queue, s.Labels, s.When = key, o.ID, o.Queue, o.Labels, when
	s.Priority, _ = task.ParsePriority(o.Priority)
	s.Request = task.Request{URL: o.URL, Method: cmp.Or(o.Method, task.DefaultMethod), Headers: o.Headers}
	var text string
	switch {
	case o.Bytes != nil:
		s.Request.BodyKind, s.Request.Body = task.BinaryBody, o.Bytes
	case o.Kind == "" && json.Unmarshal(o.Body, &text) == nil:
		s.Request.BodyKind, s.Request.Body = task.TextBody, []byte(text)
	case o.Body != nil:
		s.Request.BodyKind, s.Request.Body = task.JSONBody, o.Body
	}
	task.Set(&s.Timeout, o.Timeout)
	task.Set(&s.ExpireAfter, o.ExpireAfter)
	task.Set(&s.Retry.MinBackoff, o.MinBackoff)
	task.Set(&s.Retry.MaxBackoff, o.MaxBackoff)
	task.Set(&s.Retry.MaxAge, o.MaxAge)
	task.Set(&s.Retry.MaxAttempts, o.MaxAttempts)
	if o.Kind != "" {
		s.Request.Kind, s.Request.Method = o.Kind, ""
		if n := all.Namespace(key.Namespace); embedded {
			s.OnDead = "" // it is a URL, and a program with handlers may send no requests
		} else if n != nil && !n.Kinds {
			err = fmt.Errorf("the namespace %q does not allow tasks with a kind: an operator can set kinds on it, if a program runs its tasks", key.Namespace)
		}
	}
	task.Set(&s.OnDead, o.OnDead)
	err = cmp.Or(s.Validate(o.Now), err) // sets the destination
	return task.Replace{Spec: s}, err
}

// apply sets the task of r to the result of its pending operations on the stored task.
// A put that is refused makes a dead task, unless an attempt is under way: then the next
// one of the new task fails. The results are the notice of its death, and the error if
// a quota has refused it.
func apply(embedded bool, key task.Key, r *record, f kernel.Facts) (notice *task.Task, exceeded error) {
	t := r.stored
	for i := range r.pending {
		o := &r.pending[i]
		c, why := o.change(embedded, key, f.Settings())
		policy := f.Settings().Policy(f.Retention(), key.Namespace, cmp.Or(o.Queue, queueOf(t)))
		result, err := c.Apply(o.Now, t, task.Facts{Policy: policy})
		if err != nil { // the state of a refused put allows nothing else
			continue
		}
		if o.Op == "put" && why == nil {
			q := f.Quota(key.Namespace)
			exceeded = q.Admit(t, result.Task)
			why = exceeded
		}
		task.Sign(o.Now, settings.SQLRole+o.By, c, t, result)
		if t = result.Task; why != nil && t.State != task.Running {
			refused := t.Refuse(o.Now, why, policy)
			t, notice = refused.Task, refused.Spawned
		}
	}
	r.task = t
	return notice, exceeded
}

// unlimited are the kernel.Facts of a read, for which quotas do not count.
type unlimited struct{ *Store }

func (u unlimited) Settings() *settings.Settings { return u.settings.Load().settings }
func (u unlimited) Retention() task.Policy       { return u.config.Policy }
func (u unlimited) Quota(string) task.Quota      { return task.Quota{} }
func (u unlimited) Unfinished(task.Key) int64    { return 0 }
func (u unlimited) Room(kernel.Need) error       { return nil }

func queueOf(t *task.Task) string {
	if t == nil {
		return ""
	}
	return t.Queue
}

// pend decodes the pending operations of f, and applies them without quotas.
func (s *Store) pend(key task.Key, f *found, operations []byte) error {
	if operations == nil {
		return nil
	}
	if err := json.Unmarshal(operations, &f.pending); err != nil {
		return fmt.Errorf("the pending operations of task %q in namespace %q: %w", key.Name, key.Namespace, err)
	}
	f.stored = f.task
	_, _ = apply(s.config.Embedded, key, &f.record, unlimited{s}) // the quotas count when it is written
	if q := f.task.Request; q.Body != nil || q.BodySize == 0 {
		f.body = q.Body
	}
	return nil
}

// unapplied has the tasks with pending operations in the shards of this process.
type unapplied struct {
	mu   sync.Mutex // guards keys
	keys map[string]bool
	news chan struct{}
}

func (u *unapplied) add(keys ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, k := range keys {
		u.keys[k] = true
	}
	select {
	case u.news <- struct{}{}:
	default:
	}
}

// take removes some tasks, and returns steps that write their operations.
func (u *unapplied) take() (steps []store.Step) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for text := range u.keys {
		if len(steps) == maxRows {
			break
		}
		delete(u.keys, text)
		if k, err := parseKey(text); err == nil {
			steps = append(steps, store.Step{Key: k, Transition: &applying{}, Kind: store.Settlement})
		}
	}
	return steps
}

// applying is the transition of a step that only writes pending operations.
type applying struct {
	pending bool // the record was read, and has some
}

// Apply implements task.Transition. Errors: task.ErrStale if there is nothing to write.
func (a *applying) Apply(_ task.Millis, old *task.Task, _ task.Facts) (task.Result, error) {
	if !a.pending {
		return task.Result{}, task.ErrStale
	}
	return task.Result{Task: old}, nil
}

// applyAll writes pending operations, until ctx ends. Those of a record that another
// transaction has locked are tried again.
func (s *Store) applyAll(ctx context.Context) {
	for ctx.Err() == nil {
		steps := s.unapplied.take()
		if len(steps) == 0 {
			select {
			case <-s.unapplied.news:
			case <-ctx.Done():
			}
			continue
		}
		err := within(ctx, func(ctx context.Context) error { return s.applySome(ctx, steps) })
		if ctx.Err() == nil {
			s.failures.Note("apply operations of SQL functions", err)
		}
		if err != nil {
			pause(ctx, pollBusy)
		}
	}
}

// applySome makes steps of take, and adds the tasks again for which that fails.
func (s *Store) applySome(ctx context.Context, steps []store.Step) error {
	replies, err := s.transit(ctx, s.now(), steps)
	if err != nil {
		replies = slices.Repeat([]store.Reply{{Err: err}}, len(steps))
	}
	for i, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, task.ErrStale) {
			s.unapplied.add(keyOf(steps[i].Key))
			err = r.Err
		}
	}
	return err
}

// surveyPending finds the tasks with pending operations in shards.
func (s *Store) surveyPending(ctx context.Context, shards []int16) error {
	keys, err := query(ctx, s, pgx.RowTo[string], "SELECT key FROM task WHERE shard = ANY($1) AND pending IS NOT NULL", shards)
	s.unapplied.add(keys...)
	return err
}
