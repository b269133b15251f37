package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/task"
)

// New returns a Scheduler for the Node of the program that c calls. The handlers
// run in that program, or in a program that shares its store, and c sets the
// namespace.
//
// If the client repeats a create after a lost reply, only one task is created.
// But each call of Kind.Schedule writes the schedule, even if nothing changes.
func New(c *client.Client) foliot.Scheduler { return &remote{c} }

type remote struct{ client *client.Client }

func (r *remote) CreateMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	return r.putMany(ctx, items, r.client.Tasks.CreateMany)
}

func (r *remote) PutMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	return r.putMany(ctx, items, r.client.Tasks.PutMany)
}

func (r *remote) putMany(ctx context.Context, items []foliot.Item, put func(context.Context, []client.Spec) ([]client.Result, error)) ([]foliot.Result, error) {
	results := make([]foliot.Result, len(items))
	var specs []client.Spec
	var of []int // the item of each spec
	for i := range items {
		item, now := engine.ItemOf(items[i]), task.CeilMillis(time.Now())
		spec := localSpec(item, now)
		if err := cmp.Or(item.Err, spec.Validate(now)); err != nil {
			results[i].Err = translate("task", item.Name, err)
			continue
		}
		specs, of = append(specs, specOf(item)), append(of, i)
	}
	replies, _ := put(ctx, specs)
	for s, r := range replies {
		info, err := infoOf(r.Task, r.Err)
		results[of[s]] = foliot.Result{Info: info, Err: translate("task", specs[s].Name, err)}
	}
	return results, firstFailure(ctx, results, func(r foliot.Result) error { return r.Err })
}

// firstFailure returns the error of ctx, or else the first error of a call that failed as a
// whole.
func firstFailure[R any](ctx context.Context, results []R, of func(R) error) error {
	err := translate("task", "", ctx.Err())
	for i := 0; i < len(results) && err == nil; i++ {
		if e := of(results[i]); errors.Is(e, foliot.ErrUnavailable) {
			err = e
		}
	}
	return err
}

func (r *remote) CancelMany(ctx context.Context, names []string) ([]foliot.CancelResult, error) {
	results := make([]foliot.CancelResult, len(names))
	replies, _ := r.client.Tasks.CancelMany(ctx, names) // the error is that of ctx
	for i, r := range replies {
		if results[i].Err = translate("task", names[i], r.Err); r.Err == nil {
			results[i].Cancelled = foliot.Cancelled{UnderWay: r.Task.UnderWay, Already: r.Task.Already}
		}
	}
	return results, firstFailure(ctx, results, func(r foliot.CancelResult) error { return r.Err })
}

// localSpec returns the spec that a Node would validate. The API cannot report
// each invalid value, because the client sends a zero as the queue's default.
func localSpec(i *engine.Item, now task.Millis) task.Spec {
	return i.Spec(task.DefaultSpec(), task.DefaultNamespace, now)
}

// specOf returns the task for the API.
func specOf(i *engine.Item) client.Spec {
	s := client.Spec{
		Name: i.Name, Queue: i.Queue, Labels: i.Labels, Priority: client.Priority(i.Priority.String()),
	}
	if i.Work.Kind == "" {
		s.HTTP = httpOf(i.Work)
	} else {
		s.Work, s.OnDead = client.Work{Kind: i.Work.Kind, Args: client.JSON(json.RawMessage(i.Work.Body))}, client.NoDeadNotice
	}
	if i.When.Relative {
		s.Delay = i.When.Delay
	} else {
		s.At = i.When.At.Time()
	}
	task.Set(&s.Timeout, i.Timeout)
	if d := i.ExpireAfter; d != nil {
		s.ExpireAfter = orForever(*d)
	}
	if n := i.MaxAttempts; n != nil {
		if s.Retry.MaxAttempts = client.Limit(*n); *n == 0 {
			s.Retry.MaxAttempts = client.Unlimited
		}
	}
	task.Set(&s.Retry.MinBackoff, i.MinBackoff)
	task.Set(&s.Retry.MaxBackoff, i.MaxBackoff)
	if d := i.MaxAge; d != nil {
		s.Retry.MaxAge = orForever(*d)
	}
	return s
}

// httpOf returns a request for the API.
func httpOf(q task.Request) client.HTTP {
	h := client.HTTP{URL: q.URL, Method: q.Method, Headers: q.Headers}
	switch q.BodyKind {
	case task.JSONBody:
		h.Body = client.JSON(json.RawMessage(q.Body))
	case task.BinaryBody:
		h.Body = client.Bytes(q.Body)
	}
	return h
}

// orForever returns d for the API, where Forever means no limit.
func orForever(d time.Duration) client.Duration {
	if d == 0 {
		return client.Forever
	}
	return client.Duration(d)
}

func (r *remote) Move(ctx context.Context, name string, w foliot.When) (foliot.Info, error) {
	when, err := engine.WhenOf(w)
	if err != nil {
		return foliot.Info{}, translate("task", name, err)
	}
	p := client.Patch{Delay: client.Set(when.Delay)}
	if !when.Relative {
		p = client.Patch{At: client.Set(when.At.Time())}
	}
	dead := &foliot.Error{Noun: "task", Name: name, Err: foliot.ErrEnded, Detail: "the task is dead, so it cannot be moved: use Retry or Put to start it again"}
	i, err := r.inState(ctx, name, func(s client.State) bool { return s != client.StateDead }, dead, func(same client.CallOption) (*client.Task, error) { return r.client.Tasks.Patch(ctx, name, p, same) })
	if err == nil && i.State == foliot.StateDead { // an attempt failed after the read
		return foliot.Info{}, dead
	}
	return i, err
}

// maxConflicts is the number of tries of a change that collides with other
// changes of the same record.
const maxConflicts = 10

// inState changes a task if its state is allowed, and otherwise returns refused.
// The API has no condition on the state, so inState reads the task, and the
// change requires that no client changed it since.
func (r *remote) inState(ctx context.Context, name string, allowed func(client.State) bool, refused error, change func(client.CallOption) (*client.Task, error)) (foliot.Info, error) {
	for tries := 1; ; tries++ {
		t, err := r.task(ctx, name)
		if err != nil {
			return foliot.Info{}, err
		}
		if !allowed(t.State) {
			return foliot.Info{}, refused
		}
		i, err := infoOf(change(client.IfMatch(t.ETag())))
		if errors.Is(err, client.ErrPrecondition) && tries < maxConflicts {
			continue
		}
		return i, translate("task", name, err)
	}
}

func (r *remote) Retry(ctx context.Context, name string) (foliot.Info, error) {
	refused := &foliot.Error{Noun: "task", Name: name, Err: foliot.ErrNotDead, Detail: "the task is not dead, so it cannot be retried: use Move if it waits, or Put if it has ended"}
	return r.inState(ctx, name, func(s client.State) bool { return s == client.StateDead }, refused, func(same client.CallOption) (*client.Task, error) { return r.client.Tasks.Retry(ctx, name, same) })
}

func (r *remote) Touch(ctx context.Context, name string) (foliot.Info, error) {
	i, err := infoOf(r.client.Tasks.Touch(ctx, name))
	return i, translate("task", name, err)
}

func (r *remote) Cancel(ctx context.Context, name string) (foliot.Cancelled, error) {
	c, err := r.client.Tasks.Cancel(ctx, name)
	return foliot.Cancelled{UnderWay: c.UnderWay, Already: c.Already}, translate("task", name, err)
}

func (r *remote) Get(ctx context.Context, name string) (foliot.Info, error) {
	return infoOf(r.task(ctx, name))
}

// task returns a task, or a *foliot.Error.
func (r *remote) task(ctx context.Context, name string) (*client.Task, error) {
	t, err := r.client.Tasks.Get(ctx, name)
	return t, translate("task", name, err)
}

func (r *remote) List(ctx context.Context, f foliot.Filter) iter.Seq2[foliot.Info, error] {
	q := client.Query{Filter: client.Filter{
		Queue: f.Queue, Prefix: f.Prefix, Labels: f.Labels, Schedule: f.Schedule, Reason: f.Reason,
		DueAfter: f.DueAfter, DueBefore: f.DueBefore, EndedAfter: f.EndedAfter, EndedBefore: f.EndedBefore,
	}}
	for _, s := range f.States {
		q.States = append(q.States, client.State(s))
	}
	return func(yield func(foliot.Info, error) bool) {
		for t, err := range r.client.Tasks.List(ctx, q) {
			if err == nil && f.Kind != "" && f.Kind != t.Work.Kind {
				continue
			}
			i, err := infoOf(t, err)
			if !yield(i, translate("task", "", err)) {
				return
			}
		}
	}
}

// infoOf returns t as a Node shows it, without the state "held".
func infoOf(t *client.Task, err error) (foliot.Info, error) {
	if err != nil {
		return foliot.Info{}, err
	}
	i := foliot.Info{
		ID: t.ID, Schedule: t.Schedule, Instant: t.Instant, Name: t.Name, Kind: t.Work.Kind, Queue: t.Queue, Labels: t.Labels, State: foliot.State(t.State), Due: t.DueAt, Next: t.NextAt, WaitsFor: foliot.WaitsFor(t.WaitsFor),
		Reason: t.Reason, Attempts: t.AttemptsStarted, Durability: t.Durability,
	}
	if t.State == client.StateHeld {
		i.State = foliot.StateScheduled
	}
	if n := len(t.Attempts); n > 0 {
		i.LastError = t.Attempts[n-1].Error
	}
	return i, nil
}

func (r *remote) Schedule(ctx context.Context, rule foliot.Rule, item foliot.Item) error {
	i := engine.ItemOf(item)
	stored, err := engine.RuleOf(rule)
	now := task.CeilMillis(time.Now())
	local := task.ScheduleSpec{Spec: localSpec(i, now), Rule: stored}
	if err = cmp.Or(i.Err, err, local.Validate(now)); err != nil {
		return translate("schedule", i.Name, err)
	}
	tasks := specOf(i)
	tasks.Name, tasks.At, tasks.Delay = "", time.Time{}, 0
	spec := client.ScheduleSpec{
		Cron: stored.Cron, TimeZone: stored.Zone, Every: stored.Every, Start: bound(stored.Start), End: bound(stored.End), MaxRuns: stored.MaxRuns, Jitter: stored.Jitter,
		Missed: client.Missed(stored.Missed.String()), Overlap: client.Overlap(stored.Overlap.String()),
		CatchupLimit: stored.CatchupLimit, CatchupWindow: &stored.CatchupWindow, Task: tasks,
	}
	if stored.Cron != "" { // the API refuses fields that Every ignores
		spec.DSTGap, spec.DSTOverlap = stored.Gap.String(), stored.Fold.String()
	}
	_, err = r.client.Schedules.Put(ctx, i.Name, spec)
	return translate("schedule", i.Name, err)
}

// bound returns the first or last possible instant of a rule for the API, or
// zero if there is none. The API would round an end up, to a later instant.
func bound(at task.Millis) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return at.Time()
}

func (r *remote) Unschedule(ctx context.Context, name string) error {
	_, err := r.client.Schedules.Delete(ctx, name)
	return translate("schedule", name, err)
}

// translate returns an error of the client, or of a local check, as a
// *foliot.Error, other errors as they are, and nil if err is nil.
func translate(noun, name string, err error) error {
	var done *foliot.Error
	var field *task.FieldError
	var refused *client.Error
	var transport *client.TransportError
	switch {
	case err == nil, errors.As(err, &done):
		return err
	case errors.As(err, &field):
		return &foliot.Error{Noun: noun, Name: name, Err: foliot.ErrInvalid, Detail: err.Error()}
	case errors.As(err, &transport), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &foliot.Error{Noun: noun, Name: name, Err: errors.Join(foliot.ErrUnavailable, err), Detail: err.Error()}
	case !errors.As(err, &refused):
		return err
	case refused.Code == "bad_name" && refused.Field == "name" && noun != "queue": // a Node finds none of this name; those to create were checked before
		return &foliot.Error{Noun: noun, Name: name, Err: foliot.ErrNotFound, Detail: "no such " + noun}
	}
	return &foliot.Error{Noun: noun, Name: name, Err: kindOf(refused), Detail: refused.Message()}
}

// kinds has the errors of package foliot by the code of a refusal.
var kinds = map[string]error{
	"not_found": foliot.ErrNotFound, "unknown_namespace": foliot.ErrNotFound, "exists": foliot.ErrExists, "capacity": foliot.ErrFull,
	"quota_exceeded": foliot.ErrQuota, "namespace_suspended": foliot.ErrSuspended,
	"precondition_failed": foliot.ErrUnavailable, // other changes came in between, again and again
	"locked":              foliot.ErrUnavailable, // by a transaction of another program
	task.CodeRunning:      foliot.ErrRunning, task.CodeNoDelay: foliot.ErrNoDelay, task.CodeNotDead: foliot.ErrNotDead,
	task.CodeFinished: foliot.ErrEnded, task.CodeDead: foliot.ErrEnded,
}

// kindOf returns the error of package foliot for a refusal, or the refusal.
func kindOf(e *client.Error) error {
	switch kind := kinds[e.Code]; {
	case kind != nil:
		return kind
	case e.Status == 400 || e.Status == 413 || e.Status == 0: // 0: the client refused the call
		return foliot.ErrInvalid
	case e.Status == 429 || e.Status == 503:
		return foliot.ErrUnavailable
	}
	return e
}
