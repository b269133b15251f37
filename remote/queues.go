package remote

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/client"
)

func (r *remote) Queues() foliot.Queues { return queues{r.client.Queues} }

type queues struct{ client client.Queues }

func (qs queues) Get(ctx context.Context, name string) (foliot.Queue, error) {
	q, err := qs.client.Get(ctx, name)
	if err != nil {
		return foliot.Queue{}, ofQueue(name, err)
	}
	return queueOf(q), nil
}

func (qs queues) List(ctx context.Context) iter.Seq2[foliot.Queue, error] {
	return func(yield func(foliot.Queue, error) bool) {
		for q, err := range qs.client.List(ctx) {
			if err != nil {
				yield(foliot.Queue{}, translate("queue", "", err))
				return
			}
			if !yield(queueOf(q), nil) {
				return
			}
		}
	}
}

func queueOf(q *client.Queue) foliot.Queue {
	out := foliot.Queue{
		Name: q.Name, QueueLimits: foliot.QueueLimits{Rate: q.Rate, Burst: q.Burst, Concurrency: q.Concurrency, PerDestination: q.PerDestination},
		Paused: q.Paused, PausedUntil: q.PausedUntil, Tasks: map[foliot.State]int64{},
	}
	for state, n := range map[foliot.State]int64{
		foliot.StateScheduled: q.Counts.Scheduled, foliot.StateRunning: q.Counts.Running, foliot.StateDelivered: q.Counts.Delivered,
		foliot.StateCancelled: q.Counts.Cancelled, foliot.StateExpired: q.Counts.Expired, foliot.StateDead: q.Counts.Dead,
	} {
		if n > 0 {
			out.Tasks[state] = n
		}
	}
	return out
}

func (qs queues) Set(ctx context.Context, name string, l foliot.QueueLimits) error {
	for tries := 1; ; tries++ {
		var s client.QueueSettings
		unchanged := client.IfNoneMatch()
		q, err := qs.client.Get(ctx, name)
		switch {
		case err == nil && q.Version != 0:
			s, unchanged = q.QueueSettings, client.IfMatch(q.ETag())
		case err != nil && !errors.Is(err, client.ErrNotFound):
			return translate("queue", name, err)
		}
		s.Rate, s.Burst, s.Concurrency, s.PerDestination = l.Rate, l.Burst, l.Concurrency, l.PerDestination
		q, err = qs.client.Put(ctx, name, s, unchanged)
		if !errors.Is(err, client.ErrPrecondition) || tries == maxConflicts {
			return applied(name, q, err)
		}
	}
}

func (qs queues) Pause(ctx context.Context, name string, until time.Time) error {
	var options []client.CallOption
	if !until.IsZero() {
		options = append(options, client.Until(until))
	}
	q, err := qs.client.Pause(ctx, name, options...)
	return applied(name, q, err)
}

func (qs queues) Resume(ctx context.Context, name string) error {
	q, err := qs.client.Resume(ctx, name)
	return applied(name, q, ofQueue(name, err))
}

// ofQueue is translate for the calls that find no queue of an impossible name.
func ofQueue(name string, err error) error {
	if err = translate("queue", name, err); errors.Is(err, foliot.ErrInvalid) {
		return &foliot.Error{Noun: "queue", Name: name, Err: foliot.ErrNotFound, Detail: "no such queue"}
	}
	return err
}

// applied returns the error of a change of a queue, also if not all nodes have
// applied the change.
func applied(name string, q *client.Queue, err error) error {
	if err == nil && len(q.Unconfirmed) > 0 {
		return &foliot.Error{Noun: "queue", Name: name, Err: foliot.ErrUnavailable, Detail: "the change is made, but after two seconds these processes had not applied it: " +
			strings.Join(q.Unconfirmed, ", ") + "; repeat the call to see if they have"}
	}
	return translate("queue", name, err)
}
