package foliot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
)

// order holds the arguments of the kinds in these tests.
type order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

var closeOrder = foliot.NewKind[order]("close-order")

// calls records what handlers did.
type calls struct {
	mu   sync.Mutex
	list []foliot.Task[order]
	at   []time.Time
}

func (c *calls) note(t *foliot.Task[order]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.at = append(c.list, *t), append(c.at, time.Now())
}

func (c *calls) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list)
}

// handling returns a Mux with a handler of closeOrder. The handler records each
// call and returns the result of f.
func handling(f func(ctx context.Context, t *foliot.Task[order]) error) (*foliot.Mux, *calls) {
	m, c := new(foliot.Mux), new(calls)
	closeOrder.Handle(m, func(ctx context.Context, t *foliot.Task[order]) error {
		c.note(t)
		return f(ctx, t)
	})
	return m, c
}

func succeed(context.Context, *foliot.Task[order]) error { return nil }

// inBubble runs f with a node in memory, under fake time.
func inBubble(t *testing.T, handle func(ctx context.Context, t *foliot.Task[order]) error, f func(t *testing.T, n *foliot.Node, c *calls)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, c := handling(handle)
		n := foliottest.StartWith(t, m, foliot.Options{Grace: -1, Logger: slog.New(slog.DiscardHandler)})
		synctest.Wait()
		f(t, n, c)
	})
}

// pass lets time pass until all goroutines wait again.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func mustIn(t *testing.T, s foliot.Scheduler, name string, d time.Duration, o ...foliot.Option) {
	t.Helper()
	if _, err := closeOrder.In(t.Context(), s, name, d, order{name, 100}, o...); err != nil {
		t.Fatal(err)
	}
}

// get returns a task. It ends the test if the store does not have the task.
func get(t *testing.T, s foliot.Scheduler, name string) foliot.Info {
	t.Helper()
	i, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestTheExampleOfATestPasses(t *testing.T) { theOrderIsClosed(t) }

func TestAHandlerStartsAtItsDueTimeAndNotAMillisecondEarlier(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		due := time.Now().Add(30 * time.Minute)
		mustIn(t, n, "close-42", 30*time.Minute)
		pass(30*time.Minute - time.Millisecond)
		if c.len() != 0 {
			t.Fatal("it started early")
		}
		pass(5 * time.Millisecond)
		if c.len() != 1 {
			t.Fatal("it did not start")
		}
		got := c.list[0]
		if got.Name != "close-42" || got.Args != (order{"close-42", 100}) || got.Attempt != 1 || got.Due.Before(due) || got.Due.After(due.Add(time.Millisecond)) {
			t.Errorf("%+v", got)
		}
		if i := get(t, n, "close-42"); i.State != foliot.StateDelivered || i.Kind != "close-order" || !i.Next.IsZero() {
			t.Errorf("%+v", i)
		}
	})
}

func TestATaskIsMovedAndCancelledUntilItStarts(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		mustIn(t, n, "a", time.Hour)
		mustIn(t, n, "b", time.Hour)
		if _, err := n.Move(t.Context(), "a", foliot.In(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		pass(59 * time.Minute)
		if pending, err := n.Cancel(t.Context(), "b"); !pending || err != nil {
			t.Errorf("cancel: %v, %v", pending, err)
		}
		if pending, err := n.Cancel(t.Context(), "b"); !pending || err != nil {
			t.Errorf("cancel again: %v, %v", pending, err)
		}
		if _, err := n.Touch(t.Context(), "a"); err != nil { // now it is due in two hours
			t.Fatal(err)
		}
		pass(2*time.Hour - time.Second)
		if c.len() != 0 {
			t.Errorf("%+v started", c.list)
		}
		pass(2 * time.Second)
		if c.len() != 1 {
			t.Error("a did not start")
		}
	})
}

func TestPutReplacesAndDebounces(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		for i := range 10 {
			if _, err := closeOrder.Put(t.Context(), n, "index", foliot.In(time.Minute), order{Cents: i}); err != nil {
				t.Fatal(err)
			}
			pass(30 * time.Second)
		}
		pass(time.Hour)
		if c.len() != 1 || c.list[0].Args.Cents != 9 {
			t.Errorf("%+v", c.list)
		}
	})
}

func TestErrorsNameTheFailure(t *testing.T) {
	inBubble(t, func(ctx context.Context, _ *foliot.Task[order]) error { <-ctx.Done(); return nil }, func(t *testing.T, n *foliot.Node, _ *calls) {
		ctx := t.Context()
		mustIn(t, n, "runs", 0)
		mustIn(t, n, "waits", time.Hour)
		pass(time.Second)
		if _, err := closeOrder.At(ctx, n, "absolute", time.Now().Add(time.Hour), order{}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Cancel(ctx, "runs"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second) // its handler has returned nil
		_, exists := closeOrder.In(ctx, n, "waits", 0, order{})
		_, missing := n.Get(ctx, "nobody")
		_, ended := n.Move(ctx, "runs", foliot.In(0))
		_, noDelay := n.Touch(ctx, "absolute")
		_, badName := closeOrder.In(ctx, n, "no spaces", 0, order{})
		_, badKind := foliot.NewKind[func()]("f").In(ctx, n, "f", 0, nil)
		mustIn(t, n, "running", 0)
		pass(time.Second)
		_, running := n.Move(ctx, "running", foliot.In(0))
		for want, got := range map[error]error{
			foliot.ErrExists: exists, foliot.ErrNotFound: missing, foliot.ErrEnded: ended, foliot.ErrNoDelay: noDelay, foliot.ErrInvalid: badName, foliot.ErrRunning: running,
		} {
			if !errors.Is(got, want) || !strings.Contains(got.Error(), "task ") {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if !errors.Is(badKind, foliot.ErrInvalid) {
			t.Error(badKind)
		}
	})
}

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
		"Snooze":               {func(context.Context) error { return foliot.Snooze(3 * time.Hour) }, 3 * time.Hour, foliot.StateDelivered, "snoozed for 3h"},
		"a panic":              {func(context.Context) error { panic("at the disco") }, time.Second, foliot.StateDelivered, "panicked: at the disco"},
		"an error that panics": {func(context.Context) error { var e *brokenError; return e }, time.Second, foliot.StateDelivered, "panicked"},
		"Goexit":               {func(context.Context) error { runtime.Goexit(); return nil }, time.Second, foliot.StateDelivered, "runtime.Goexit"},
		"a timeout": {func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, 16 * time.Second, foliot.StateDelivered,
			"timed out after 15s"},
		"a handler that ignores its timeout": {func(context.Context) error { time.Sleep(time.Hour); return nil }, 0, foliot.StateDelivered, ""},
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
				pass(max(c.after, time.Hour) + time.Minute)
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
func TestAStopIsNoReasonToDieEvenIfTheHandlerSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := handling(func(ctx context.Context, _ *foliot.Task[order]) error {
			<-ctx.Done()
			return foliot.Dead(fmt.Errorf("cannot close the order: %w", ctx.Err()))
		})
		n, err := foliot.Open(t.Context(), foliottest.Store(), m, foliot.Options{Grace: -1})
		if err != nil {
			t.Fatal(err)
		}
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

func TestACallbackThatBlocksDelaysNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := handling(func(ctx context.Context, task *foliot.Task[order]) error {
			if task.Name == "hangs" {
				time.Sleep(time.Minute)
				return nil
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(30 * time.Second):
				return nil
			}
		})
		n := foliottest.StartWith(t, m, foliot.Options{Lease: time.Second, Hangs: func(foliot.Info, time.Duration) { time.Sleep(40 * time.Second) }})
		mustIn(t, n, "hangs", 0, foliot.Timeout(time.Second))
		mustIn(t, n, "long", 0, foliot.Timeout(time.Minute))
		pass(35 * time.Second)
		if i := get(t, n, "long"); i.State != foliot.StateDelivered || i.Attempts != 1 || c.len() != 2 {
			t.Errorf("%+v, %d calls", i, c.len())
		}
		pass(2 * time.Minute) // until nothing hangs
	})
}

func TestANodeWithoutAMuxRunsNothing(t *testing.T) {
	n, err := foliot.Open(t.Context(), foliottest.Store(), nil, foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "without a Mux") {
		t.Error(err)
	}
}

func TestArgumentsThatDoNotDecodeAreAFailureAndNotTheEnd(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		old := foliot.NewKind[string]("close-order") // of an earlier deployment
		if _, err := old.In(t.Context(), n, "a", 0, "42"); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if i := get(t, n, "a"); i.State != foliot.StateScheduled || !strings.Contains(i.LastError, "cannot decode the arguments") || c.len() != 0 {
			t.Errorf("%+v, %d calls", i, c.len())
		}
	})
}

func TestTasksOfARenamedKindWaitForItsHandlerAndTheLogSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal bytes.Buffer // written by one goroutine, and read while that sleeps
		m, c := handling(succeed)
		n := foliottest.StartWith(t, m, foliot.Options{Logger: slog.New(slog.NewTextHandler(&journal, nil))})
		renamed := foliot.NewKind[order]("shut-order")
		if _, err := renamed.In(t.Context(), n, "a", 0, order{}); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Hour)
		if i := get(t, n, "a"); i.State != foliot.StateScheduled || i.Attempts != 0 || c.len() != 0 {
			t.Errorf("%+v", i)
		}
		if log := journal.String(); strings.Count(log, "has no handler for their kind") != 1 || !strings.Contains(log, "kind=shut-order") {
			t.Errorf("the log: %s", log)
		}
		if missing := n.Missing(); !slices.Equal(missing, []string{"shut-order"}) {
			t.Errorf("missing: %v", missing)
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
		if pending, err := n.Cancel(t.Context(), "a"); pending || err != nil {
			t.Errorf("%v, %v", pending, err)
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

func TestAScheduleCallsItsHandlerAndWritesNothingIfNothingChanged(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
		for range 3 { // three starts of the program
			if err := closeOrder.Schedule(t.Context(), n, "hourly", foliot.Cron("0 * * * *", "Europe/Berlin"), order{Cents: 1}); err != nil {
				t.Fatal(err)
			}
			pass(time.Hour)
		}
		if c.len() != 3 || !strings.HasPrefix(c.list[0].Name, "hourly@") {
			t.Errorf("%+v", c.list)
		}
		if v := foliot.StoredSchedule(t, n, "hourly").Version; v != 1 {
			t.Errorf("it was written %d times", v)
		}
		if err := closeOrder.Schedule(t.Context(), n, "hourly", foliot.Cron("0 * * * *", "Europe/Berlin"), order{Cents: 2}); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if c.list[3].Args.Cents != 2 {
			t.Errorf("%+v", c.list[3])
		}
	})
}

func TestAScheduleIsNoTask(t *testing.T) {
	n := foliottest.Start(t, new(foliot.Mux))
	if err := closeOrder.Schedule(t.Context(), n, "nightly", foliot.Every(time.Hour), order{}); err != nil {
		t.Fatal(err)
	}
	_, get := n.Get(t.Context(), "@nightly")
	_, cancel := n.Cancel(t.Context(), "@nightly")
	if !errors.Is(get, foliot.ErrNotFound) || !errors.Is(cancel, foliot.ErrNotFound) {
		t.Errorf("Get: %v, Cancel: %v", get, cancel)
	}
}

func TestAScheduleThatHasEndedIsNotWrittenAgain(t *testing.T) {
	for name, rule := range map[string]foliot.Rule{
		"after its last run": {Every: time.Second, MaxRuns: 2},
		"after its end":      {Every: time.Minute, End: time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC)}, // bubbles begin at midnight
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, succeed, func(t *testing.T, n *foliot.Node, c *calls) {
				version := uint64(0)
				for start := range 4 {
					if err := closeOrder.Schedule(t.Context(), n, "s", rule, order{}); err != nil {
						t.Fatal(err)
					}
					got := foliot.StoredSchedule(t, n, "s").Version
					if start > 0 && got != version {
						t.Errorf("start %d wrote version %d after %d", start, got, version)
					}
					pass(time.Hour)
					version = foliot.StoredSchedule(t, n, "s").Version
				}
				if c.len() == 0 || !foliot.StoredSchedule(t, n, "s").Recur.Ended() {
					t.Errorf("it has not ended: %d calls", c.len())
				}
			})
		})
	}
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
		one, many := foliot.NewKind[string]("one"), foliot.NewKind[string]("many")
		one.Handle(m, handle, foliot.AtOnce(1))
		many.Handle(m, handle)
		n := foliottest.StartWith(t, m, foliot.Options{Concurrency: 5})
		for i := range 40 {
			name := string(rune('a'+i%26)) + string(rune('a'+i/26))
			for _, k := range []foliot.Kind[string]{one, many} {
				if _, err := k.In(t.Context(), n, k.Name()+name, 0, k.Name()); err != nil {
					t.Fatal(err)
				}
			}
		}
		pass(2 * time.Minute)
		if most["one"] != 1 || most["all"] != 5 || n.Stats().Delivered != 80 {
			t.Errorf("at most %v ran, %+v", most, n.Stats())
		}
	})
}

func TestTheProgramIsToldOfDeadTasksAndOfHandlersThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := handling(func(_ context.Context, task *foliot.Task[order]) error {
			if task.Args.Cents == 1 {
				time.Sleep(time.Hour)
			}
			return foliot.Dead(errors.New("no such order"))
		})
		var died, hung []string
		n := foliottest.StartWith(t, m, foliot.Options{
			Died:  func(i foliot.Info) { died = append(died, i.Name+": "+i.LastError) },
			Hangs: func(i foliot.Info, _ time.Duration) { hung = append(hung, i.Name) },
		})
		for i, name := range []string{"dies", "hangs"} {
			if _, err := closeOrder.In(t.Context(), n, name, 0, order{Cents: i}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		if want := []string{"dies: no such order"}; !slices.Equal(died, want) {
			t.Errorf("died: %q", died)
		}
		if s := n.Stats(); !slices.Equal(hung, []string{"hangs"}) || s.Hanging != 1 || s.Running != 1 || s.Dead != 1 {
			t.Errorf("hung: %q, %+v", hung, s)
		}
		pass(2 * time.Hour)
		if s := n.Stats(); s.Hanging != 0 || s.Running != 0 {
			t.Errorf("after its end: %+v", s)
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

func TestACallWhoseContextEndsMayHaveBeenAppliedAndItsErrorSaysSo(t *testing.T) {
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, s := range map[string]foliot.Scheduler{"node": foliottest.Start(t, new(foliot.Mux)), "remote": foliot.Remote(c)} {
		for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
			_, create := closeOrder.In(ctx, s, "a", time.Hour, order{})
			_, cancel := s.Cancel(ctx, "a")
			_, get := s.Get(ctx, "a")
			schedule := closeOrder.Schedule(ctx, s, "s", foliot.Every(time.Hour), order{})
			for call, err := range map[string]error{"In": create, "Cancel": cancel, "Get": get, "Schedule": schedule} {
				if !errors.Is(err, foliot.ErrUnavailable) || !errors.Is(err, want) {
					t.Errorf("%s of a %s: %v", call, name, err)
				}
			}
		}
	}
}

func TestTasksOfAMissingKindAreReportedUntilTheyAreCancelledMovedOrReplaced(t *testing.T) {
	for name, gone := range map[string]func(*testing.T, *foliot.Node){
		"cancelled": func(t *testing.T, n *foliot.Node) {
			if pending, err := n.Cancel(t.Context(), "a"); !pending || err != nil {
				t.Fatal(pending, err)
			}
		},
		"moved": func(t *testing.T, n *foliot.Node) {
			if _, err := n.Move(t.Context(), "a", foliot.In(24*time.Hour)); err != nil {
				t.Fatal(err)
			}
		},
		"replaced": func(t *testing.T, n *foliot.Node) {
			if _, err := closeOrder.Put(t.Context(), n, "a", foliot.In(24*time.Hour), order{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, succeed, func(t *testing.T, n *foliot.Node, _ *calls) {
				renamed := foliot.NewKind[order]("shut-order")
				if _, err := renamed.In(t.Context(), n, "a", 0, order{}); err != nil {
					t.Fatal(err)
				}
				if _, err := renamed.In(t.Context(), n, "b", 0, order{}); err != nil {
					t.Fatal(err)
				}
				pass(time.Hour)
				if m := n.Missing(); !slices.Equal(m, []string{"shut-order"}) || foliot.Known(n) != 2 {
					t.Fatalf("before: %q, and %d tasks are known", m, foliot.Known(n))
				}
				gone(t, n)
				pass(time.Minute)
				if m := n.Missing(); !slices.Equal(m, []string{"shut-order"}) || foliot.Known(n) != 1 {
					t.Errorf("with one of two: %q, and %d tasks are known", m, foliot.Known(n))
				}
				if _, err := n.Cancel(t.Context(), "b"); err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
				if m := n.Missing(); len(m) != 0 || foliot.Known(n) != 0 {
					t.Errorf("without both: %q, and %d tasks are known", m, foliot.Known(n))
				}
			})
		})
	}
}

// dying returns a Mux whose tasks die at once.
func dying() *foliot.Mux {
	m, _ := handling(func(context.Context, *foliot.Task[order]) error { return foliot.Dead(errors.New("no such order")) })
	return m
}

func TestRunEndsEvenIfACallbackBlocksAndItsErrorNamesTheCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, died := make(chan bool), 0
		n, err := foliot.Open(t.Context(), foliottest.Store(), dying(), foliot.Options{
			Logger: slog.New(slog.DiscardHandler), Died: func(foliot.Info) { died++; <-release },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		mustIn(t, n, "a", 0)
		mustIn(t, n, "b", 0)
		pass(time.Second)
		stop()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "Options.Died has not returned") {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("Run has not returned")
		}
		close(release)
		synctest.Wait()
		if died != 1 {
			t.Errorf("%d calls, also after the end of Run", died)
		}
	})
}

func TestACallbackThatPanicsOrExitsStopsNeitherTheProcessNorTheNextCalls(t *testing.T) {
	for name, first := range map[string]func(){"panics": func() { panic("at the disco") }, "calls runtime.Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var journal bytes.Buffer // written by one goroutine, and read while that sleeps
				died := 0
				n := foliottest.StartWith(t, dying(), foliot.Options{Logger: slog.New(slog.NewTextHandler(&journal, nil)), Died: func(foliot.Info) {
					if died++; died == 1 {
						first()
					}
				}})
				mustIn(t, n, "a", 0)
				mustIn(t, n, "b", 0)
				pass(time.Minute)
				if died != 2 || !strings.Contains(journal.String(), "option=Died") {
					t.Errorf("%d calls; the log: %s", died, journal.String())
				}
			})
		})
	}
}

func TestCallsThatWaitAreLimitedAndTheLogNamesTheSlowOption(t *testing.T) {
	var journal bytes.Buffer
	if left := foliot.WaitingCallbacks(slog.New(slog.NewTextHandler(&journal, nil)), 20_000); left != 10_000 {
		t.Errorf("%d calls wait", left)
	}
	if strings.Count(journal.String(), "further calls are dropped") != 1 || !strings.Contains(journal.String(), "slow=Hangs") {
		t.Errorf("the log: %s", journal.String())
	}
}

func TestTheProgramIsToldOfTasksThatDiedBecauseTheirProcessEndedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, store := make(chan bool), dir.Store(t.TempDir())
		defer close(release)
		var died []string
		m, c := handling(func(context.Context, *foliot.Task[order]) error { <-release; return nil })
		for process := 0; process < 20 && len(died) == 0; process++ {
			n, err := foliot.Open(t.Context(), store, m, foliot.Options{
				Grace: -1, Logger: slog.New(slog.DiscardHandler), Died: func(i foliot.Info) { died = append(died, i.Name+": "+i.Reason) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if process == 0 {
				mustIn(t, n, "a", 0, foliot.Timeout(time.Hour))
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			_ = n.Run(ctx) // its handler still runs, and keeps the task until the next process
			stop()
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"a: reclaims_exhausted"}; !slices.Equal(died, want) {
			t.Errorf("after %d attempts: %q", c.len(), died)
		}
	})
}

// exitingValue is the value of a panic with a method that ends its goroutine.
type exitingValue struct{}

func (exitingValue) String() string { runtime.Goexit(); return "" }

func TestAPanicValueThatExitsItsGoroutineCostsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := handling(func(context.Context, *foliot.Task[order]) error { panic(exitingValue{}) })
		n := foliottest.StartWith(t, m, foliot.Options{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)})
		for _, name := range []string{"a", "b"} {
			mustIn(t, n, name, 0, foliot.MaxAttempts(1))
			pass(time.Second)
			if i := get(t, n, name); i.State != foliot.StateDead || !strings.Contains(i.LastError, "panicked: a value of type foliot_test.exitingValue") {
				t.Errorf("%+v", i)
			}
		}
	})
}

func TestValuesThatCannotWorkAreRefusedAtOnce(t *testing.T) {
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, s := range map[string]foliot.Scheduler{"node": foliottest.Start(t, new(foliot.Mux)), "remote": foliot.Remote(c)} {
		for field, rule := range map[string]foliot.Rule{"Rule.Missed": {Every: time.Hour, Missed: 77}, "Rule.Overlap": {Every: time.Hour, Overlap: 77}} {
			if err := closeOrder.Schedule(t.Context(), s, "s", rule, order{}); !errors.Is(err, foliot.ErrInvalid) || !strings.Contains(err.Error(), field) {
				t.Errorf("a %s with a wrong %s: %v", name, field, err)
			}
		}
	}
	store := dir.Store(t.TempDir())
	if _, err := foliot.Open(t.Context(), store, new(foliot.Mux), foliot.Options{Concurrency: math.MaxInt}); err == nil || !strings.Contains(err.Error(), "Options.Concurrency") {
		t.Errorf("the greatest concurrency: %v", err)
	}
	if n, err := foliot.Open(t.Context(), store, new(foliot.Mux), foliot.Options{}); err != nil {
		t.Errorf("the directory after that: %v", err)
	} else if err := n.Close(); err != nil {
		t.Error(err)
	}
	for want, handle := range map[string]func(){
		`the name of the kind "two words": must consist of`: func() { foliot.NewKind[order]("two words").Handle(new(foliot.Mux), succeed) },
		`must have 1 to 128 characters`:                     func() { foliot.NewKind[order](strings.Repeat("k", 129)).Handle(new(foliot.Mux), succeed) },
		`the handler of the kind close-order is nil`:        func() { closeOrder.Handle(new(foliot.Mux), nil) },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, want) {
					t.Errorf("Handle panics with %q, want %q", v, want)
				}
			}()
			handle()
		}()
	}
}

func TestHandlersCallbacksAndTheLogKnowTheNamespaceOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal bytes.Buffer // written by one goroutine, and read after it has ended
		var seen []string
		m := new(foliot.Mux)
		m.Use(func(next foliot.Handler) foliot.Handler {
			return func(ctx context.Context, c *foliot.Call) error {
				seen = append(seen, "call "+c.Namespace+"/"+c.Name)
				return next(ctx, c)
			}
		})
		closeOrder.Handle(m, func(_ context.Context, t *foliot.Task[order]) error {
			seen = append(seen, "task "+t.Namespace+"/"+t.Name)
			time.Sleep(time.Minute)
			panic("at the disco")
		})
		store := dir.Store(t.TempDir())
		for _, namespace := range []string{"a", "b"} {
			n, err := foliot.Open(t.Context(), store, m, foliot.Options{
				Namespace: namespace, Logger: slog.New(slog.NewTextHandler(&journal, nil)),
				Died: func(i foliot.Info) { seen = append(seen, "died "+i.Namespace+"/"+i.Name) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if namespace == "a" {
				mustIn(t, n, "x", 0, foliot.MaxAttempts(1))
			} else {
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				if err := n.Run(ctx); err != nil {
					t.Error(err)
				}
				stop()
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
		if want := []string{"call a/x", "task a/x", "died a/x"}; !slices.Equal(seen, want) {
			t.Errorf("%q", seen)
		}
		for _, record := range []string{"a handler panicked", "a handler ignores"} {
			if !slices.ContainsFunc(strings.Split(journal.String(), "\n"), func(line string) bool {
				return strings.Contains(line, record) && strings.Contains(line, "namespace=a task=x")
			}) {
				t.Errorf("%s: the log: %s", record, journal.String())
			}
		}
	})
}
