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
// program that shares its Redis. The client sets the namespace.
//
// If the client repeats a create after a lost reply, only one task is created.
// Each call of Kind.Schedule writes the schedule, even if nothing changes.
func Remote(c *client.Client) Scheduler { return &remote{c} }

type remote struct{ client *client.Client }

// clientSpec returns the task for the API.
func (r *request) clientSpec() client.Spec {
	s := client.Spec{
		Name: r.name, Queue: r.queue, At: r.when.at, Delay: r.when.delay, Labels: r.labels,
		Priority: client.Priority(r.priority.String()),
		Work:     client.Work{Kind: r.kind, Args: client.JSON(json.RawMessage(r.args))},
	}
	set(&s.Timeout, r.timeout)
	if d := r.expireAfter; d != nil {
		s.ExpireAfter = orForever(*d)
	}
	if n := r.maxAttempts; n != nil {
		if s.Retry.MaxAttempts = client.Limit(*n); *n == 0 {
			s.Retry.MaxAttempts = client.Unlimited
		}
	}
	set(&s.Retry.MinBackoff, r.minBackoff)
	set(&s.Retry.MaxBackoff, r.maxBackoff)
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

func (s *remote) create(ctx context.Context, r *request, replace bool) (Info, error) {
	if err := r.when.valid(r.name); err != nil {
		return Info{}, err
	}
	create := s.client.Tasks.Create
	if replace {
		create = func(ctx context.Context, spec client.Spec) (*client.Task, error) {
			return s.client.Tasks.Put(ctx, spec)
		}
	}
	t, err := create(ctx, r.clientSpec())
	return remoteInfo(r.name, t, err)
}

// Move implements Scheduler.
func (s *remote) Move(ctx context.Context, name string, w When) (Info, error) {
	if err := w.valid(name); err != nil {
		return Info{}, err
	}
	p := client.Patch{At: client.Set(w.at)}
	if !w.absolute {
		p = client.Patch{Delay: client.Set(w.delay)}
	}
	t, err := s.client.Tasks.Patch(ctx, name, p)
	if err == nil && t.State == client.Dead {
		return Info{}, dead(name)
	}
	return remoteInfo(name, t, err)
}

// Retry implements Scheduler.
func (s *remote) Retry(ctx context.Context, name string) (Info, error) {
	t, err := s.client.Tasks.Retry(ctx, name)
	i, err := remoteInfo(name, t, err)
	if errors.Is(err, ErrEnded) {
		err = notDead(name)
	}
	return i, err
}

// Unschedule implements Scheduler.
func (s *remote) Unschedule(ctx context.Context, name string) error {
	_, err := s.client.Schedules.Delete(ctx, name)
	return remoteError(name, err)
}

// Touch implements Scheduler.
func (s *remote) Touch(ctx context.Context, name string) (Info, error) {
	t, err := s.client.Tasks.Touch(ctx, name)
	return remoteInfo(name, t, err)
}

// Cancel implements Scheduler.
func (s *remote) Cancel(ctx context.Context, name string) (pending bool, err error) {
	_, running, err := s.client.Tasks.Cancel(ctx, name)
	if err != nil {
		return false, remoteError(name, err)
	}
	return !running, nil
}

// Get implements Scheduler.
func (s *remote) Get(ctx context.Context, name string) (Info, error) {
	t, err := s.client.Tasks.Get(ctx, name)
	return remoteInfo(name, t, err)
}

func (s *remote) schedule(ctx context.Context, r *request, rule Rule) error {
	task := r.clientSpec()
	task.Name, task.Delay = "", 0
	spec := client.ScheduleSpec{
		Cron: rule.Cron, TimeZone: rule.Zone, Every: rule.Every, Start: rule.Start, End: rule.End, MaxRuns: rule.MaxRuns, Jitter: rule.Jitter,
		Misfire: client.Misfire(recurrence.Misfire(rule.Missed).String()), Overlap: client.Overlap(recurrence.Overlap(rule.Overlap).String()), CatchupLimit: rule.CatchupLimit, Task: task,
	}
	if rule.SkipGaps {
		spec.DSTGap = "skip"
	}
	if rule.BothFolds {
		spec.DSTOverlap = "both"
	}
	if rule.CatchupWindow != 0 {
		window := max(rule.CatchupWindow, 0)
		spec.CatchupWindow = &window
	}
	_, err := s.client.Schedules.Put(ctx, r.name, spec)
	return remoteError(r.name, err)
}

func remoteInfo(name string, t *client.Task, err error) (Info, error) {
	if err != nil {
		return Info{}, remoteError(name, err)
	}
	i := Info{
		Name: t.Name, Kind: t.Work.Kind, Queue: t.Queue, State: t.State, Due: t.DueAt, Next: t.NextAt, Reason: t.Reason,
	}
	if n := len(t.Attempts); n > 0 {
		i.Attempts, i.LastError = t.Attempts[n-1].Number, t.Attempts[n-1].Error
	}
	return i, nil
}

// remoteError returns an error of the client as an *Error about the task or
// schedule. It returns other errors as they are, and nil if err is nil.
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
	case errors.Is(e, client.ErrUnavailable), errors.Is(e, client.ErrRateLimited):
		return ErrUnavailable
	case e.Code == task.CodeRunning, e.Code == task.CodeNoDelay, e.Code == task.CodeFinished, e.Code == task.CodeDead, e.Code == task.CodeNotDead:
		return kindOfState(e.Code)
	case e.Status == 400 || e.Status == 413:
		return ErrInvalid
	}
	return e
}
