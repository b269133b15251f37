package foliot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

// notebook is a Tracer that notes its calls. The span of a context is a value.
type notebook struct{ lines []string }

type span struct{}

func (*notebook) Traceparent(ctx context.Context) string {
	s, _ := ctx.Value(span{}).(string)
	return s
}

func (n *notebook) Start(ctx context.Context, c *foliot.Call, traceparent string) (context.Context, func(error)) {
	return context.WithValue(ctx, span{}, "the span of "+c.Name), func(err error) {
		n.lines = append(n.lines, fmt.Sprintf("%s %d of %q: %v", c.Name, c.Attempt, traceparent, err))
	}
}

func TestATracerGetsTheSpanThatCreatedATaskAndTheErrorOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spans notebook
		m, _ := handling(func(ctx context.Context, task *foliot.Task[order]) error {
			if got := spans.Traceparent(ctx); got != "the span of "+task.Name {
				t.Errorf("the handler of %s has %q", task.Name, got)
			}
			switch {
			case task.Attempt == 2:
				return nil
			case task.Name == "snoozed":
				return foliot.Snooze(time.Minute)
			case task.Name == "panics":
				panic("at the disco")
			}
			return errors.New("the shop is closed")
		})
		n := foliottest.StartWith(t, m, foliot.Options{Tracer: &spans, Logger: slog.New(slog.DiscardHandler)})
		for i, name := range []string{"fails", "snoozed", "panics"} {
			ctx := context.WithValue(t.Context(), span{}, "a click on "+name)
			fatal.If(t, errOf(closeOrder.In(ctx, n, name, time.Duration(i)*10*time.Second, order{})))
		}
		pass(time.Hour)
		slices.Sort(spans.lines)
		want := []string{
			`fails 1 of "a click on fails": the shop is closed`, `fails 2 of "a click on fails": <nil>`,
			`panics 1 of "a click on panics": the handler panicked or called runtime.Goexit`, `panics 2 of "a click on panics": <nil>`,
			`snoozed 1 of "a click on snoozed": <nil>`, `snoozed 2 of "a click on snoozed": <nil>`,
		}
		if !slices.Equal(spans.lines, want) {
			t.Errorf("%q", spans.lines)
		}
	})
}

// guarded is a Scheduler of a program: it refuses tasks with a forbidden name.
type guarded struct{ foliot.Scheduler }

func (g guarded) CreateMany(ctx context.Context, items []foliot.Item) ([]foliot.Result, error) {
	if items[0].Name() != "a" {
		return g.Scheduler.CreateMany(ctx, items)
	}
	return nil, &foliot.Error{Noun: "task", Name: "a", Err: foliot.ErrFull, Detail: "the shop takes no orders: call again tomorrow"}
}

func TestAProgramCanWrapAScheduler(t *testing.T) {
	s := guarded{foliottest.Start(t, new(foliot.Mux))}
	if _, err := closeOrder.In(t.Context(), s, "a", 0, order{}); !errors.Is(err, foliot.ErrFull) || err.Error() != `task "a": the shop takes no orders: call again tomorrow` {
		t.Error(err)
	}
	mustIn(t, s, "b", time.Hour)
	if _, err := closeOrder.Put(t.Context(), s, "a", foliot.In(0), order{}); err != nil {
		t.Error(err)
	}
}
