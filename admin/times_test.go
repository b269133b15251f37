package admin_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/client"
	clientadmin "github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/fatal"
)

// entrances are the calls that take a time, over the API or in this process.
// Each needs the task "waits" and the schedule "hourly".
func entrances(c *client.Client, s foliot.Scheduler) map[string]func(context.Context, time.Time) error {
	call := client.Work{Kind: closeOrder.Name()}
	every := client.ScheduleSpec{Every: time.Hour, Task: client.Spec{Work: call}}
	schedule := func(change func(*client.ScheduleSpec, time.Time)) func(context.Context, time.Time) error {
		return func(ctx context.Context, at time.Time) error {
			spec := every
			change(&spec, at)
			_, err := c.Schedules.Put(ctx, "far", spec)
			return err
		}
	}
	return map[string]func(context.Context, time.Time) error{
		"kind.At": func(ctx context.Context, at time.Time) error {
			_, err := closeOrder.At(ctx, s, "far", at, order{})
			return err
		},
		"kind.Put": func(ctx context.Context, at time.Time) error {
			_, err := closeOrder.Put(ctx, s, "far", foliot.At(at), order{})
			return err
		},
		"Move": func(ctx context.Context, at time.Time) error {
			_, err := s.Move(ctx, "waits", foliot.At(at))
			return err
		},
		"Rule.Start": func(ctx context.Context, at time.Time) error {
			return closeOrder.Schedule(ctx, s, "far", foliot.Rule{Every: time.Hour, Start: at}, order{})
		},
		"Rule.End": func(ctx context.Context, at time.Time) error {
			return closeOrder.Schedule(ctx, s, "far", foliot.Rule{Every: time.Hour, End: at}, order{})
		},
		"create": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.Create(ctx, client.Spec{Name: "far", Work: call, At: at})
			return err
		},
		"first attempt": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.Create(ctx, client.Spec{Name: "far", Work: call, At: time.Now(), FirstAttempt: at})
			return err
		},
		"put": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.Put(ctx, client.Spec{Name: "far", Work: call, At: at})
			return err
		},
		"patch": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.Patch(ctx, "waits", client.Patch{At: client.Set(at)})
			return err
		},
		"batch": func(ctx context.Context, at time.Time) error {
			all, err := c.Tasks.CreateMany(ctx, []client.Spec{{Name: "far", Work: call, At: at}})
			if err == nil {
				err = all[0].Err
			}
			return err
		},
		"move many": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.MoveMatching(ctx, client.Filter{States: []client.State{client.StateScheduled}}, client.When{At: at})
			return err
		},
		"publish": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.Publish(ctx, client.Publication{URL: "https://example.com", Name: "far", At: at})
			return err
		},
		"schedule start":  schedule(func(s *client.ScheduleSpec, at time.Time) { s.Start = at }),
		"schedule end":    schedule(func(s *client.ScheduleSpec, at time.Time) { s.End = at }),
		"schedule anchor": schedule(func(s *client.ScheduleSpec, at time.Time) { s.Anchor = at }),
		"backfill": func(ctx context.Context, at time.Time) error {
			_, err := c.Schedules.Backfill(ctx, "hourly", time.Now(), at)
			return err
		},
		"preview": func(ctx context.Context, at time.Time) error {
			_, err := c.Schedules.Preview(ctx, "hourly", at, 1)
			return err
		},
		"preview of a rule": func(ctx context.Context, at time.Time) error {
			_, err := c.Schedules.PreviewRule(ctx, every, client.RuleQuery{From: at})
			return err
		},
		"pause": func(ctx context.Context, at time.Time) error {
			_, err := c.Queues.Pause(ctx, "far", client.Until(at))
			return err
		},
		"token": func(ctx context.Context, at time.Time) error {
			_, err := clientadmin.New(c).Tokens.Create(ctx, clientadmin.TokenSpec{Scope: clientadmin.ScopeRead, ExpiresAt: at})
			return err
		},
		"filter": func(ctx context.Context, at time.Time) error {
			_, err := c.Tasks.Page(ctx, client.Query{Filter: client.Filter{DueAfter: at}}, "")
			return err
		},
	}
}

// UnixMilli wraps 292 million years from 1970: such a task would be due in 1970.
// The last of these times is one at which the wrapped time is 2030.
func TestATimeOutOfRangeIsRefusedAtEachEntrance(t *testing.T) {
	n, c, schedulers := both(t)
	fatal.If(t, errOf(closeOrder.In(t.Context(), n, "waits", time.Hour, order{})))
	fatal.If(t, closeOrder.Schedule(t.Context(), n, "hourly", foliot.Every(time.Hour), order{}))
	before := stored(t, n, "waits")
	wrapped := time.UnixMilli(math.MaxInt64).Unix()*2 + time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for _, at := range []time.Time{time.Unix(math.MaxInt64, 0), time.UnixMilli(math.MaxInt64), time.Unix(math.MaxInt64/1000+1, 0), time.Unix(wrapped, 1), time.Date(12_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		for where, s := range schedulers {
			for name, call := range entrances(c, s) {
				err := call(t.Context(), at)
				var refused *client.Error
				switch {
				case errors.As(err, &refused) && refused.Status == 400, errors.Is(err, foliot.ErrInvalid):
				default:
					t.Errorf("%s (%s) with %d s: %v", name, where, at.Unix(), err)
				}
			}
		}
	}
	if after := stored(t, n, "waits"); after.Version != before.Version {
		t.Errorf("a refused call changed the task: %+v", after)
	}
	if _, err := n.Get(t.Context(), "far"); !errors.Is(err, foliot.ErrNotFound) {
		t.Errorf("a refused call made a task: %v", err)
	}
}
