package foliot

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// Remote returns a Scheduler that creates tasks over HTTP, in a program that
// serves package foliot/admin. The handlers run in that program, or in a
// program that shares its Redis, and the client sets the namespace.
//
// If the client repeats a create after a lost reply, only one task is created.
// But each call of Kind.Schedule writes the schedule, even if nothing changes.
func Remote(c *client.Client) Scheduler { return &remote{c} }

type remote struct{ client *client.Client }

// localSpec returns the spec that a Node would validate. The API cannot report
// each invalid value, because the client sends a zero as the queue's default.
func (r *request) localSpec(now task.Millis) task.Spec {
	return r.spec(task.DefaultSpec(), task.DefaultNamespace, now)
}

// clientSpec returns the task for the API.
func (r *request) clientSpec() client.Spec {
	s := client.Spec{
		Name: r.name, Queue: r.queue, Labels: r.labels, Priority: client.Priority(r.priority.String()),
	}
	if r.work.Kind == "" {
		s.HTTP = httpOf(r.work)
	} else {
		s.Work, s.OnDead = client.Work{Kind: r.work.Kind, Args: client.JSON(json.RawMessage(r.work.Body))}, client.NoDeadNotice
	}
	if w := r.when.task(); w.Relative {
		s.Delay = w.Delay
	} else {
		s.At = w.At.Time()
	}
	task.Set(&s.Timeout, r.timeout)
	if d := r.expireAfter; d != nil {
		s.ExpireAfter = orForever(*d)
	}
	if n := r.maxAttempts; n != nil {
		if s.Retry.MaxAttempts = client.Limit(*n); *n == 0 {
			s.Retry.MaxAttempts = client.Unlimited
		}
	}
	task.Set(&s.Retry.MinBackoff, r.minBackoff)
	task.Set(&s.Retry.MaxBackoff, r.maxBackoff)
	if d := r.maxAge; d != nil {
		s.Retry.MaxAge = orForever(*d)
	}
	return s
}

// orForever returns d for the API, where Forever means no limit.
func orForever(d time.Duration) client.Duration {
	if d == 0 {
		return client.Forever
	}
	return client.Duration(d)
}

func (r *remote) create(ctx context.Context, q *request, replace bool) (Info, error) {
	if err := q.when.valid(q.name); err != nil {
		return Info{}, err
	}
	now := task.CeilMillis(time.Now())
	spec := q.localSpec(now)
	if err := spec.Validate(now); err != nil {
		return Info{}, translate(q.name, err)
	}
	create := r.client.Tasks.Create
	if replace {
		create = func(ctx context.Context, spec client.Spec) (*client.Task, error) {
			return r.client.Tasks.Put(ctx, spec)
		}
	}
	t, err := create(ctx, q.clientSpec())
	return remoteInfo(q.name, t, err)
}

func (r *remote) Move(ctx context.Context, name string, w When) (Info, error) {
	if err := w.valid(name); err != nil {
		return Info{}, err
	}
	p := client.Patch{Delay: client.Set(w.delay)}
	if w.absolute {
		p = client.Patch{At: client.Set(w.task().At.Time())}
	}
	refused := func(st State) error {
		if st == StateDead {
			return dead(name)
		}
		return nil
	}
	i, err := r.inState(ctx, name, refused, func(same client.Condition) (*client.Task, error) {
		return r.client.Tasks.Patch(ctx, name, p, same)
	})
	if err == nil && i.State == StateDead { // an attempt failed after the read
		return Info{}, dead(name)
	}
	return i, err
}

// maxConflicts is the number of tries of a change that collides with other
// changes of the same task.
const maxConflicts = 10

// inState changes a task unless refused returns an error for its state. The API
// has no condition on the state, so inState reads the task, and the change
// requires that no client changed it since.
func (r *remote) inState(ctx context.Context, name string, refused func(State) error, change func(client.Condition) (*client.Task, error)) (Info, error) {
	for tries := 1; ; tries++ {
		t, err := r.task(ctx, name)
		if err != nil {
			return Info{}, err
		}
		if err := refused(t.State); err != nil {
			return Info{}, err
		}
		t, err = change(client.IfMatch(t.ETag()))
		if errors.Is(err, client.ErrPrecondition) && tries < maxConflicts {
			continue
		}
		return remoteInfo(name, t, err)
	}
}

func (r *remote) Retry(ctx context.Context, name string) (Info, error) {
	refused := func(st State) error {
		if st != StateDead {
			return notDead(name)
		}
		return nil
	}
	return r.inState(ctx, name, refused, func(same client.Condition) (*client.Task, error) {
		return r.client.Tasks.Retry(ctx, name, same)
	})
}

func (r *remote) Unschedule(ctx context.Context, name string) error {
	if task.ValidateName("name", name) != nil {
		return translate(name, task.ErrNotFound)
	}
	_, err := r.client.Schedules.Delete(ctx, name)
	return remoteError(name, err)
}

func (r *remote) Touch(ctx context.Context, name string) (Info, error) {
	if err := unknown(name); err != nil {
		return Info{}, err
	}
	t, err := r.client.Tasks.Touch(ctx, name)
	return remoteInfo(name, t, err)
}

func (r *remote) Cancel(ctx context.Context, name string) (pending bool, err error) {
	if err := unknown(name); err != nil {
		return false, err
	}
	_, running, err := r.client.Tasks.Cancel(ctx, name)
	if err != nil {
		return false, remoteError(name, err)
	}
	return !running, nil
}

func (r *remote) Get(ctx context.Context, name string) (Info, error) {
	t, err := r.task(ctx, name)
	if err != nil {
		return Info{}, err
	}
	return infoOfClient(t), nil
}

// task returns a task, or an *Error.
func (r *remote) task(ctx context.Context, name string) (*client.Task, error) {
	if err := unknown(name); err != nil {
		return nil, err
	}
	t, err := r.client.Tasks.Get(ctx, name)
	return t, remoteError(name, err)
}

// unknown returns ErrNotFound, as a Node does, if no task can have the name,
// where the API would return ErrInvalid.
func unknown(name string) error {
	if task.ValidateRecordName("name", name) != nil {
		return translate(name, task.ErrNotFound)
	}
	return nil
}

func (r *remote) schedule(ctx context.Context, q *request, rule recurrence.Rule) error {
	now := task.CeilMillis(time.Now())
	local := task.ScheduleSpec{Spec: q.localSpec(now), Rule: rule}
	if err := local.Validate(now); err != nil {
		return translate(q.name, err)
	}
	tasks := q.clientSpec()
	tasks.Name, tasks.Delay = "", 0
	spec := client.ScheduleSpec{
		Cron: rule.Cron, TimeZone: rule.Zone, Every: rule.Every, Start: bound(rule.Start), End: bound(rule.End), MaxRuns: rule.MaxRuns, Jitter: rule.Jitter,
		Misfire: client.Misfire(rule.Misfire.String()), Overlap: client.Overlap(rule.Overlap.String()),
		CatchupLimit: rule.CatchupLimit, CatchupWindow: &rule.CatchupWindow, Task: tasks,
	}
	if rule.Cron != "" { // the API refuses fields that Every ignores
		spec.DSTGap, spec.DSTOverlap = rule.Gap.String(), rule.Fold.String()
	}
	_, err := r.client.Schedules.Put(ctx, q.name, spec)
	return remoteError(q.name, err)
}

// bound returns the first or last possible instant of a rule for the API, or
// zero if there is none. The API would round an end up, to a later instant.
func bound(at task.Millis) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return at.Time()
}

func remoteInfo(name string, t *client.Task, err error) (Info, error) {
	if err != nil {
		return Info{}, remoteError(name, err)
	}
	return infoOfClient(t), nil
}

// infoOfClient returns t as a Node shows it, without the state "held".
func infoOfClient(t *client.Task) Info {
	i := Info{
		Name: t.Name, Kind: t.Work.Kind, Queue: t.Queue, State: t.State, Due: t.DueAt, Next: t.NextAt, WaitsFor: t.WaitsFor, Reason: t.Reason,
		Attempts: t.AttemptsStarted, Durability: t.Durability,
	}
	if t.State == client.Held {
		i.State = StateScheduled
	}
	if n := len(t.Attempts); n > 0 {
		i.LastError = t.Attempts[n-1].Error
	}
	return i
}

// remoteError returns an error of the client as an *Error about the task or
// schedule, other errors as they are, and nil if err is nil.
func remoteError(name string, err error) error {
	var refused *client.Error
	var transport *client.TransportError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &transport), endOfContext(err):
		return unavailable(name, err)
	case !errors.As(err, &refused):
		return err
	}
	return &Error{Task: name, kind: kindOfRefusal(refused), detail: refused.Message()}
}

func kindOfRefusal(e *client.Error) error {
	switch {
	case errors.Is(e, client.ErrExists):
		return ErrExists
	case errors.Is(e, client.ErrNotFound):
		return ErrNotFound
	case errors.Is(e, client.ErrFull):
		return ErrFull
	case errors.Is(e, client.ErrUnavailable), errors.Is(e, client.ErrRateLimited), errors.Is(e, client.ErrPrecondition):
		return ErrUnavailable
	case e.Code == task.CodeRunning, e.Code == task.CodeNoDelay, e.Code == task.CodeFinished, e.Code == task.CodeDead, e.Code == task.CodeNotDead:
		return kindOfState(e.Code)
	case e.Status == 400 || e.Status == 413:
		return ErrInvalid
	}
	return e
}
