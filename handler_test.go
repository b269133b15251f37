package foliot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

// TestEachResultOfAHandlerHasItsOutcome has the table of the package
// documentation.
func TestEachResultOfAHandlerHasItsOutcome(t *testing.T) {
	broken := errors.New("the shop is closed")
	for name, c := range map[string]struct {
		first    func(ctx context.Context) error // the result of the first attempt; later ones return nil
		after    time.Duration                   // until the second attempt; 0: there is none
		state    foliot.State
		contains string // in the error of the first attempt
	}{
		"nil":                  {func(context.Context) error { return nil }, 0, foliot.StateDelivered, ""},
		"an error":             {func(context.Context) error { return broken }, time.Second, foliot.StateDelivered, "the shop is closed"},
		"Dead":                 {func(context.Context) error { return foliot.Dead(broken) }, 0, foliot.StateDead, "the shop is closed"},
		"RetryIn":              {func(context.Context) error { return foliot.RetryIn(7*time.Minute, broken) }, 7 * time.Minute, foliot.StateDelivered, "the shop is closed"},
		"Snooze":               {func(context.Context) error { return foliot.Snooze(20 * time.Minute) }, 20 * time.Minute, foliot.StateDelivered, "snoozed for 20m"},
		"a panic":              {func(context.Context) error { panic("at the disco") }, time.Second, foliot.StateDelivered, "panicked: at the disco"},
		"an error that panics": {func(context.Context) error { var e *brokenError; return e }, time.Second, foliot.StateDelivered, "panicked"},
		"Goexit":               {func(context.Context) error { runtime.Goexit(); return nil }, time.Second, foliot.StateDelivered, "runtime.Goexit"},
		"a timeout": {
			func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, 16 * time.Second, foliot.StateDelivered,
			"timed out after 15s",
		},
		"a handler that ignores its timeout": {func(context.Context) error { time.Sleep(5 * time.Minute); return nil }, 0, foliot.StateDelivered, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, task *foliot.Task[order]) error {
				if task.Attempt == 1 {
					return c.first(ctx)
				}
				return nil
			}, func(t *testing.T, n *foliot.Node, calls *calls) {
				mustIn(t, n, "a", 0)
				pass(10 * time.Second)
				pass(20 * time.Second)
				first := get(t, n, "a").LastError
				pass(max(c.after, 10*time.Minute) + time.Minute)
				i := get(t, n, "a")
				if i.State != c.state {
					t.Errorf("it is %s (%s, %s)", i.State, i.Reason, i.LastError)
				}
				if calls.len() == 2 && c.after < time.Minute {
					first = c.contains // it is no longer the last one
				}
				if !strings.Contains(first, c.contains) {
					t.Errorf("its error is %q", first)
				}
				switch {
				case c.after == 0 && calls.len() != 1, c.after != 0 && calls.len() != 2:
					t.Fatalf("%d attempts", calls.len())
				case c.after != 0:
					if got := calls.at[1].Sub(calls.at[0]); got < c.after || got > c.after+time.Second {
						t.Errorf("the second attempt came after %v, want %v", got, c.after)
					}
				}
			})
		})
	}
}

// brokenError is an error with a method that panics if the pointer is nil.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// A deployment must not kill tasks, even if the handler reports the end of its
// process as a fatal error.
func TestAStopKillsNoTaskEvenIfItsHandlerReturnsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := handling(func(ctx context.Context, _ *foliot.Task[order]) error {
			<-ctx.Done()
			return foliot.Dead(fmt.Errorf("cannot close the order: %w", ctx.Err()))
		})
		n, err := foliot.Open(t.Context(), foliottest.Store(), m, foliot.Options{Grace: -1})
		fatal.If(t, err)
		defer n.Close()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		mustIn(t, n, "a", 0, foliot.Timeout(time.Hour))
		pass(time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if i := get(t, n, "a"); i.State != foliot.StateScheduled {
			t.Errorf("%+v", i)
		}
	})
}

func TestArgumentsThatDoNotDecodeFailTheAttemptAndNotTheTask(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		old := foliot.NewKind[string]("close-order") // of an earlier deployment
		fatal.If(t, errOf(old.In(t.Context(), n, "a", 0, "42")))
		pass(time.Minute)
		if i := get(t, n, "a"); i.State != foliot.StateScheduled || !strings.Contains(i.LastError, "cannot decode the arguments") || c.len() != 0 {
			t.Errorf("%+v, %d calls", i, c.len())
		}
	})
}

func TestACancelEndsTheContextOfARunningHandler(t *testing.T) {
	var cause error
	inBubble(t, func(ctx context.Context, _ *foliot.Task[order]) error {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return cause
	}, func(t *testing.T, n *foliot.Node, c *calls) {
		mustIn(t, n, "a", 0, foliot.Timeout(time.Hour))
		pass(time.Second)
		if c, err := n.Cancel(t.Context(), "a"); !c.UnderWay || err != nil {
			t.Errorf("%+v, %v", c, err)
		}
		pass(time.Hour)
		if i := get(t, n, "a"); i.State != foliot.StateCancelled || !errors.Is(cause, foliot.ErrCancelled) || c.len() != 1 {
			t.Errorf("%+v, %v, %d calls", i, cause, c.len())
		}
	})
}

func TestMiddlewareWrapsEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := handling(succeed)
		var seen []string
		wrap := func(name string) foliot.Middleware {
			return func(next foliot.Handler) foliot.Handler {
				return func(ctx context.Context, c *foliot.Call) error {
					seen = append(seen, name+" "+c.Kind+" "+string(c.Args))
					return next(ctx, c)
				}
			}
		}
		m.Use(wrap("outer"), wrap("inner"))
		n := foliottest.Start(t, m)
		mustIn(t, n, "a", 0)
		pass(time.Second)
		args, _ := json.Marshal(order{"a", 100})
		if want := []string{"outer close-order " + string(args), "inner close-order " + string(args)}; !slices.Equal(seen, want) {
			t.Errorf("%q", seen)
		}
	})
}

func TestConcurrencyLimitsAProcessAndAtOnceAKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := map[string]int{}, map[string]int{}
		m := new(foliot.Mux)
		handle := func(_ context.Context, task *foliot.Task[string]) error {
			add := func(by int) {
				mu.Lock()
				defer mu.Unlock()
				for _, k := range []string{task.Args, "all"} {
					running[k] += by
					most[k] = max(most[k], running[k])
				}
			}
			add(1)
			time.Sleep(time.Second)
			add(-1)
			return nil
		}
		one, many := foliot.NewKind[string]("one", foliot.AtOnce(1)), foliot.NewKind[string]("many")
		one.Handle(m, handle)
		many.Handle(m, handle)
		n := foliottest.StartWith(t, m, foliot.Options{Concurrency: 5})
		for i := range 40 {
			name := string(rune('a'+i%26)) + string(rune('a'+i/26))
			for _, k := range []foliot.Kind[string]{one, many} {
				fatal.If(t, errOf(k.In(t.Context(), n, k.Name()+name, 0, k.Name())))
			}
		}
		pass(2 * time.Minute)
		if most["one"] != 1 || most["all"] != 5 || n.Stats().Delivered != 80 {
			t.Errorf("at most %v ran, %+v", most, n.Stats())
		}
	})
}

func TestAHandlerCanChangeItsArgumentsAndLabelsAndTheStoredTaskStays(t *testing.T) {
	var got []string
	m := new(foliot.Mux)
	m.Use(func(next foliot.Handler) foliot.Handler {
		return func(ctx context.Context, c *foliot.Call) error {
			got = append(got, fmt.Sprint(string(c.Args), c.Labels))
			clear(c.Args)
			c.Labels["trace"] = "1"
			_ = next(ctx, c)
			return errors.New("the next attempt must see the task as it was created")
		}
	})
	closeOrder.Handle(m, succeed)
	synctest.Test(t, func(t *testing.T) {
		n := foliottest.StartWith(t, m, foliot.Options{Logger: slog.New(slog.DiscardHandler)})
		mustIn(t, n, "a", 0, foliot.Label("shop", "7"), foliot.MaxAttempts(2))
		pass(time.Minute)
		if len(got) != 2 || got[1] != got[0] || !strings.Contains(got[0], "map[shop:7]") {
			t.Errorf("%q", got)
		}
	})
}

func TestAHandlerThatPutsItsTaskBackAtOnceRunsOnceASecond(t *testing.T) {
	for name, result := range map[string]error{
		"Snooze(0)": foliot.Snooze(0), "Snooze(-1)": foliot.Snooze(-1), "RetryIn(0)": foliot.RetryIn(0, errors.New("busy")), "RetryIn(1ns)": foliot.RetryIn(1, errors.New("busy")),
	} {
		inBubble(t, func(_ context.Context, again *foliot.Task[order]) error {
			if again.Attempt > 100 {
				return nil
			}
			return result
		}, func(t *testing.T, n *foliot.Node, c *calls) {
			mustIn(t, n, "again", 0)
			pass(time.Minute)
			if c.len() < 50 || c.len() > 61 {
				t.Errorf("%s: it ran %d times in a minute", name, c.len())
			}
		})
	}
}
