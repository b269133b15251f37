package foliot_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/remote"
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
	fatal.If(t, errOf(closeOrder.In(t.Context(), s, name, d, order{name, 100}, o...)))
}

// errOf returns the error of a call, and ignores its result.
func errOf[T any](_ T, err error) error { return err }

// get returns a task. It ends the test if the store does not have the task.
func get(t *testing.T, s foliot.Scheduler, name string) foliot.Info {
	t.Helper()
	i, err := s.Get(t.Context(), name)
	fatal.If(t, err)
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
		fatal.If(t, errOf(n.Move(t.Context(), "a", foliot.In(2*time.Hour))))
		pass(59 * time.Minute)
		if c, err := n.Cancel(t.Context(), "b"); c != (foliot.Cancelled{}) || err != nil {
			t.Errorf("cancel: %+v, %v", c, err)
		}
		if c, err := n.Cancel(t.Context(), "b"); c != (foliot.Cancelled{Already: true}) || err != nil {
			t.Errorf("cancel again: %+v, %v", c, err)
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
			fatal.If(t, errOf(closeOrder.Put(t.Context(), n, "index", foliot.In(time.Minute), order{Cents: i})))
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
		fatal.If(t, errOf(closeOrder.At(ctx, n, "absolute", time.Now().Add(time.Hour), order{})))
		fatal.If(t, errOf(n.Cancel(ctx, "runs")))
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

func TestANodeWithoutAMuxRunsNothing(t *testing.T) {
	n, err := foliot.Open(t.Context(), foliottest.Store(), nil, foliot.Options{})
	fatal.If(t, err)
	defer n.Close()
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "without a Mux") {
		t.Error(err)
	}
}

// A program that closes its node without the end of Run has not died, so the attempt that it
// ends does not count.
func TestCloseEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := handling(func(ctx context.Context, _ *foliot.Task[order]) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		n, err := foliot.Open(t.Context(), foliottest.Store(), m, foliot.Options{Grace: -1, Logger: slog.New(slog.DiscardHandler)})
		fatal.If(t, err)
		ended := make(chan error, 1)
		go func() { ended <- n.Run(context.Background()) }()
		mustIn(t, n, "a", 0)
		if pass(time.Second); c.len() != 1 {
			t.Fatalf("%d handlers run", c.len())
		}
		fatal.If(t, errors.Join(n.Close(), <-ended))
		if s := n.Stats(); s.Interrupted != 1 || s.Running != 0 {
			t.Errorf("%+v", s)
		}
		if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is closed") {
			t.Errorf("Run of a closed node: %v", err)
		}
		if _, err := n.CreateMany(t.Context(), []foliot.Item{closeOrder.Item("b", foliot.In(0), order{})}); !errors.Is(err, foliot.ErrClosed) {
			t.Errorf("creates of a closed node: %v", err)
		}
		defer func() {
			if recover() == nil {
				t.Error("a handler is added after Open")
			}
		}()
		m.Use()
	})
}

func TestAnErrorOfOpenHasItsKind(t *testing.T) {
	st := dir.Store(t.TempDir())
	n, err := foliot.Open(t.Context(), st, nil, foliot.Options{})
	fatal.If(t, err)
	defer n.Close()
	if _, err := foliot.Open(t.Context(), st, nil, foliot.Options{}); !errors.Is(err, foliot.ErrUnavailable) {
		t.Errorf("the store that another node has open: %v", err)
	}
}

func TestEachFailureOfAStoreHasItsKind(t *testing.T) {
	for _, c := range []struct{ of, want error }{
		{&task.QuotaError{}, foliot.ErrQuota},
		{task.ErrSuspended, foliot.ErrSuspended},
		{task.ErrClosed, foliot.ErrClosed},
		{task.ErrStopped, foliot.ErrUnavailable}, // the change may have been made
		{&task.LockedError{}, foliot.ErrUnavailable},
	} {
		got := foliot.Translate("task", "a", c.of)
		for _, kind := range []error{foliot.ErrQuota, foliot.ErrSuspended, foliot.ErrClosed, foliot.ErrUnavailable} {
			if errors.Is(got, kind) != errors.Is(c.want, kind) {
				t.Errorf("%v is %v", c.of, got)
			}
		}
	}
}

func TestACallWhoseContextEndsMayHaveBeenAppliedAndItsErrorSaysSo(t *testing.T) {
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	fatal.If(t, err)
	defer c.Close()
	for name, s := range map[string]foliot.Scheduler{"node": foliottest.Start(t, new(foliot.Mux)), "remote": remote.New(c)} {
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

func TestValuesThatCannotWorkAreRefusedAtOnce(t *testing.T) {
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	fatal.If(t, err)
	defer c.Close()
	for name, s := range map[string]foliot.Scheduler{"node": foliottest.Start(t, new(foliot.Mux)), "remote": remote.New(c)} {
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
}

// Open names all mistakes at once, so that a program is corrected once.
func TestOpenNamesEachMistakeOfItsArguments(t *testing.T) {
	kind := func(name string, o ...foliot.Option) foliot.Kind[order] { return foliot.NewKind[order](name, o...) }
	m := new(foliot.Mux)
	m.Use(nil)
	kind("two words").Handle(m, succeed)
	kind(strings.Repeat("k", 129)).Handle(m, succeed)
	kind("").Handle(m, succeed)
	kind("idle").Handle(m, nil)
	kind("twice").Handle(m, succeed)
	kind("twice").Handle(m, succeed)
	kind("none", foliot.AtOnce(0)).Handle(m, succeed)
	_, err := foliot.Open(t.Context(), foliot.Store{}, m, foliot.Options{
		Namespace: "no spaces", Concurrency: -5, Lease: time.Millisecond, KeepFinished: -1, KeepDead: -time.Hour, URLs: foliot.URLs("shop.example"),
	})
	for _, want := range []string{
		"a middleware is nil: pass functions to Use",
		`the name of the kind "two words": must consist of`,
		"must have 1 to 128 characters",
		"a kind without a name, such as HTTP, cannot have a handler",
		"the handler of the kind idle is nil",
		"the kind twice has two handlers",
		"AtOnce of the kind none is 0, but must be at least 1",
		"the Store is the zero Store",
		`Options.Namespace is "no spaces", but must be`,
		"Options.Concurrency is -5, but must be from 1 to 1000000",
		"Options.Lease is 1ms, but must be from 1s to 15s",
		"Options.KeepFinished is -1ns, but must be",
		"Options.KeepDead is -1h0m0s, but must be",
		`an argument of URLs is wrong: "shop.example"`,
	} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("it does not name %q once: %v", want, err)
		}
	}
	if _, err := foliot.Open(t.Context(), foliottest.Store(), nil, foliot.Options{Lease: 16 * time.Second}); err == nil {
		t.Error("a lease of 16 seconds")
	}
}

func TestAtOnceIsNoOptionOfATask(t *testing.T) {
	n := foliottest.Start(t, new(foliot.Mux))
	if _, err := closeOrder.In(t.Context(), n, "a", 0, order{}, foliot.AtOnce(1)); !errors.Is(err, foliot.ErrInvalid) || !strings.Contains(err.Error(), "NewKind") {
		t.Error(err)
	}
}

func TestTheZeroPriorityIsNormal(t *testing.T) {
	var unset foliot.PriorityLevel
	kind := foliot.NewKind[struct{}]("work")
	for level, want := range map[foliot.PriorityLevel]task.Priority{
		foliot.High: task.High, unset: task.Normal, foliot.Low: task.Low,
	} {
		if got := foliot.StoredPriority(kind.Item("a", foliot.When{}, struct{}{}, foliot.Priority(level))); got != want {
			t.Errorf("Priority(%d) is stored as %v, want %v", level, got, want)
		}
	}
	for _, level := range []foliot.PriorityLevel{2, -2, 127, -128} {
		if got := foliot.StoredPriority(kind.Item("a", foliot.When{}, struct{}{}, foliot.Priority(level))); got.Valid() {
			t.Errorf("Priority(%d) is stored as %v, but no task can have it", level, got)
		}
	}
}
