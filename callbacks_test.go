package foliot_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

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
		n := foliottest.StartWith(t, m, foliot.Options{Lease: time.Second, OnHang: func(foliot.Info, time.Duration) { time.Sleep(40 * time.Second) }})
		mustIn(t, n, "hangs", 0, foliot.Timeout(time.Second))
		mustIn(t, n, "long", 0, foliot.Timeout(time.Minute))
		pass(35 * time.Second)
		if i := get(t, n, "long"); i.State != foliot.StateDelivered || i.Attempts != 1 || c.len() != 2 {
			t.Errorf("%+v, %d calls", i, c.len())
		}
		pass(2 * time.Minute) // until nothing hangs
	})
}

func TestTasksOfARenamedKindWaitForAHandlerAndTheLogReportsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var journal bytes.Buffer // written by one goroutine, and read while that sleeps
		m, c := handling(succeed)
		n := foliottest.StartWith(t, m, foliot.Options{Logger: slog.New(slog.NewTextHandler(&journal, nil))})
		renamed := foliot.NewKind[order]("shut-order")
		fatal.If(t, errOf(renamed.In(t.Context(), n, "a", 0, order{})))
		pass(3 * time.Hour)
		if i := get(t, n, "a"); i.State != foliot.StateScheduled || i.Attempts != 0 || c.len() != 0 {
			t.Errorf("%+v", i)
		}
		if log := journal.String(); strings.Count(log, "has no handler for their kind") != 1 || !strings.Contains(log, "kind=shut-order") {
			t.Errorf("the log: %s", log)
		}
		if missing := n.MissingHandlers(); !slices.Equal(missing, []string{"shut-order"}) {
			t.Errorf("missing: %v", missing)
		}
	})
}

func TestTheProgramIsNotifiedOfDeadTasksAndOfHandlersThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := handling(func(_ context.Context, task *foliot.Task[order]) error {
			if task.Args.Cents == 1 {
				time.Sleep(time.Hour)
			}
			return foliot.Dead(errors.New("no such order"))
		})
		var died, hung []string
		n := foliottest.StartWith(t, m, foliot.Options{
			OnDead: func(i foliot.Info) { died = append(died, i.Name+": "+i.LastError) },
			OnHang: func(i foliot.Info, _ time.Duration) { hung = append(hung, i.Name) },
		})
		for i, name := range []string{"dies", "hangs"} {
			fatal.If(t, errOf(closeOrder.In(t.Context(), n, name, 0, order{Cents: i})))
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

func TestTasksOfAMissingKindAreReportedUntilTheyAreCancelledMovedOrReplaced(t *testing.T) {
	for name, gone := range map[string]func(*testing.T, *foliot.Node){
		"cancelled": func(t *testing.T, n *foliot.Node) {
			if c, err := n.Cancel(t.Context(), "a"); c.UnderWay || err != nil {
				t.Fatal(c, err)
			}
		},
		"moved": func(t *testing.T, n *foliot.Node) {
			fatal.If(t, errOf(n.Move(t.Context(), "a", foliot.In(24*time.Hour))))
		},
		"replaced": func(t *testing.T, n *foliot.Node) {
			fatal.If(t, errOf(closeOrder.Put(t.Context(), n, "a", foliot.In(24*time.Hour), order{})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, succeed, func(t *testing.T, n *foliot.Node, _ *calls) {
				renamed := foliot.NewKind[order]("shut-order")
				fatal.If(t, errOf(renamed.In(t.Context(), n, "a", 0, order{})))
				fatal.If(t, errOf(renamed.In(t.Context(), n, "b", 0, order{})))
				pass(time.Hour)
				if m := n.MissingHandlers(); !slices.Equal(m, []string{"shut-order"}) || foliot.Known(n) != 2 {
					t.Fatalf("before: %q, and %d tasks are known", m, foliot.Known(n))
				}
				gone(t, n)
				pass(time.Minute)
				if m := n.MissingHandlers(); !slices.Equal(m, []string{"shut-order"}) || foliot.Known(n) != 1 {
					t.Errorf("with one of two: %q, and %d tasks are known", m, foliot.Known(n))
				}
				fatal.If(t, errOf(n.Cancel(t.Context(), "b")))
				pass(time.Minute)
				if m := n.MissingHandlers(); len(m) != 0 || foliot.Known(n) != 0 {
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
			Logger: slog.New(slog.DiscardHandler), OnDead: func(foliot.Info) { died++; <-release },
		})
		fatal.If(t, err)
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
			if err == nil || !strings.Contains(err.Error(), "Options.OnDead has not returned") {
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
				n := foliottest.StartWith(t, dying(), foliot.Options{Logger: slog.New(slog.NewTextHandler(&journal, nil)), OnDead: func(foliot.Info) {
					if died++; died == 1 {
						first()
					}
				}})
				mustIn(t, n, "a", 0)
				mustIn(t, n, "b", 0)
				pass(time.Minute)
				if died != 2 || !strings.Contains(journal.String(), "option=OnDead") {
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
	if strings.Count(journal.String(), "further calls are dropped") != 1 || !strings.Contains(journal.String(), "slow=OnHang") {
		t.Errorf("the log: %s", journal.String())
	}
}

func TestTheProgramIsNotifiedOfTasksThatDiedBecauseTheirProcessEndedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, store := make(chan bool), dir.Store(t.TempDir())
		defer close(release)
		var died []string
		m, c := handling(func(context.Context, *foliot.Task[order]) error { <-release; return nil })
		for process := 0; process < 20 && len(died) == 0; process++ {
			n, err := foliot.Open(t.Context(), store, m, foliot.Options{
				Grace: -1, Logger: slog.New(slog.DiscardHandler), OnDead: func(i foliot.Info) { died = append(died, i.Name+": "+i.Reason) },
			})
			fatal.If(t, err)
			if process == 0 {
				mustIn(t, n, "a", 0, foliot.Timeout(time.Hour))
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			_ = n.Run(ctx) // its handler still runs, and keeps the task until the next process
			stop()
			fatal.If(t, n.Close())
		}
		if want := []string{"a: reclaims_exhausted"}; !slices.Equal(died, want) {
			t.Errorf("after %d attempts: %q", c.len(), died)
		}
	})
}

func TestHandlersCallbacksAndTheLogGetTheNamespaceOfATask(t *testing.T) {
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
				Namespace: namespace, AllNamespaces: true, Logger: slog.New(slog.NewTextHandler(&journal, nil)),
				OnDead: func(i foliot.Info) { seen = append(seen, "died "+i.Namespace+"/"+i.Name) },
			})
			fatal.If(t, err)
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
