package foliot

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Queues implements Scheduler.
func (n *Node) Queues() Queues { return queues{n} }

// queues are the queues of the namespace of a Node.
type queues struct{ *Node }

func (qs queues) Get(ctx context.Context, name string) (Queue, error) {
	for q, err := range qs.List(ctx) {
		if err != nil || q.Name == name {
			return q, err
		}
	}
	return Queue{}, translate(ofQueue, name, task.ErrNotFound)
}

func (qs queues) List(ctx context.Context) iter.Seq2[Queue, error] {
	return func(yield func(Queue, error) bool) {
		all, err := qs.core.Store.Counts(ctx)
		if err != nil {
			yield(Queue{}, translate(ofQueue, "", err))
			return
		}
		counts := map[string]task.Counts{}
		for _, s := range qs.core.Store.Standing().Settings.List(settings.QueueKind, qs.options.Namespace) {
			counts[s.Key().Name] = task.Counts{}
		}
		for key, c := range all {
			if key.Namespace == qs.options.Namespace && key.Queue != task.ScheduleQueue && c.Total() > 0 {
				counts[key.Queue] = c
			}
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if !yield(queueOf(name, qs.settings(name), counts[name], qs.now()), nil) {
				return
			}
		}
	}
}

// settings returns the settings of a queue, which may be shared.
func (qs queues) settings(name string) *settings.QueueSettings {
	return qs.core.Store.Standing().Settings.Queue(qs.options.Namespace, name)
}

func queueOf(name string, q *settings.QueueSettings, c task.Counts, now task.Millis) Queue {
	out := Queue{
		Name: name, QueueLimits: QueueLimits{q.Rate, q.Burst, q.Concurrency, q.PerDestination},
		Paused: q.PausedAt(now), Tasks: map[State]int64{},
	}
	if out.Paused && q.PausedUntil != 0 {
		out.PausedUntil = q.PausedUntil.Time()
	}
	for s := task.Scheduled; s.Valid(); s++ {
		if c.States[s] > 0 {
			out.Tasks[State(s.String())] = c.States[s]
		}
	}
	return out
}

func (qs queues) Set(ctx context.Context, name string, l QueueLimits) error {
	return qs.edit(ctx, name, func() settings.Edit {
		q := *qs.settings(name)
		cond := task.Precondition{IfMatch: []string{q.ETag()}} // the other settings are as they were read
		if q.Version == 0 {
			cond = task.Precondition{IfNoneMatch: true}
		}
		q.Namespace, q.Name = qs.options.Namespace, name
		q.Rate, q.Burst, q.Concurrency, q.PerDestination = l.Rate, l.Burst, l.Concurrency, l.PerDestination
		return settings.PutQueue{Queue: q, If: cond}
	})
}

func (qs queues) Pause(ctx context.Context, name string, until time.Time) error {
	e := settings.PauseQueue{Namespace: qs.options.Namespace, Name: name, Paused: true}
	if !until.IsZero() {
		now := qs.now()
		if e.Until = task.CeilMillis(until); e.Until <= now || e.Until > now.Add(task.MaxDuration) {
			return translate(ofQueue, name, invalid("the end of the pause must be in the future, at most 100 years ahead"))
		}
	}
	return qs.edit(ctx, name, func() settings.Edit { return e })
}

func (qs queues) Resume(ctx context.Context, name string) error {
	if _, err := qs.Get(ctx, name); err != nil {
		return err
	}
	return qs.edit(ctx, name, func() settings.Edit {
		return settings.PauseQueue{Namespace: qs.options.Namespace, Name: name}
	})
}

// maxConflicts is the number of tries of a change that collides with changes of
// the same settings by others.
const maxConflicts = 10

// edit makes an edit of a queue, again if its precondition does not hold.
func (qs queues) edit(ctx context.Context, name string, edit func() settings.Edit) error {
	for tries := 1; ; tries++ {
		replies, err := qs.core.Store.Configure(qs.asActor(ctx), qs.now(), []settings.Edit{edit()})
		if err == nil {
			err = replies[0].Err
		}
		switch conflict := errors.Is(err, task.ErrPrecondition); {
		case conflict && tries < maxConflicts:
		case conflict:
			return &Error{ofQueue, name, ErrUnavailable, "other processes change its settings at the same time: repeat the call"}
		case err == nil && len(replies[0].Unconfirmed) > 0:
			return &Error{ofQueue, name, ErrUnavailable, "the change is made, but after two seconds these processes had not applied it: " +
				strings.Join(replies[0].Unconfirmed, ", ") + "; repeat the call to see if they have"}
		default:
			return translate(ofQueue, name, err)
		}
	}
}
