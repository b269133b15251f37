package admin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/remote"
)

// order is the arguments of closeOrder.
type order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

var (
	closeOrder = foliot.NewKind[order]("close-order")
	deadOrder  = foliot.NewKind[order]("dead-order") // its handler gives up
	longOrder  = foliot.NewKind[order]("long-order") // its handler runs until its context ends
)

// began receives the name of each task whose handler of longOrder has started.
var began = make(chan string, 2)

// errOf returns the error of a call, and ignores its result.
func errOf[T any](_ T, err error) error { return err }

// stored returns a record as it is in the store.
func stored(t *testing.T, n *foliot.Node, name string) *task.Task {
	t.Helper()
	got, err := engine.Of(n).Store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
	fatal.If(t, err)
	return got
}

// both returns a running Node, a client of its API, and the Schedulers that must
// do the same: the Node, and a Remote with that client.
func both(t *testing.T) (*foliot.Node, *client.Client, map[string]foliot.Scheduler) {
	t.Helper()
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(context.Context, *foliot.Task[order]) error { return nil })
	deadOrder.Handle(mux, func(context.Context, *foliot.Task[order]) error { return foliot.Dead(errors.New("no such order")) })
	longOrder.Handle(mux, func(ctx context.Context, long *foliot.Task[order]) error {
		began <- long.Name
		<-ctx.Done()
		return ctx.Err()
	})
	n := foliottest.StartWith(t, mux, foliot.Options{Grace: -1})
	server := httptest.NewServer(admin.New(n, func(*http.Request) admin.Access { return admin.Admin }))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return n, c, map[string]foliot.Scheduler{"node": n, "remote": remote.New(c)}
}

func TestGetNamesTheReasonWhyATaskDoesNotStart(t *testing.T) {
	_, c, schedulers := both(t)
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	fatal.If(t, errOf(c.Queues.Pause(t.Context(), "orders", client.Until(until))))
	for name, s := range schedulers {
		fatal.If(t, errOf(closeOrder.In(t.Context(), s, name, 0, order{}, foliot.InQueue("orders"))))
		i, err := s.Get(t.Context(), name)
		if w := i.WaitsFor; err != nil || w.Reason != "pause" || !w.Until.Equal(until) || !strings.Contains(w.Detail, "the queue orders is paused") {
			t.Errorf("the %s: %+v, %v", name, w, err)
		}
	}
}

func TestARemoteSchedulerDoesTheSameAsANode(t *testing.T) {
	n, _, schedulers := both(t)
	for name, s := range schedulers {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			options := []foliot.Option{
				foliot.InQueue("orders"), foliot.Priority(foliot.High), foliot.Label("shop", "7"), foliot.Timeout(time.Minute),
				foliot.ExpireAfter(time.Hour), foliot.MaxAttempts(7), foliot.Backoff(2*time.Second, time.Minute), foliot.MaxAge(0),
			}
			made, err := closeOrder.In(ctx, s, name, 30*time.Minute, order{"42", 7}, options...)
			if err != nil || made.State != foliot.StateScheduled || made.Kind != "close-order" || made.Queue != "orders" {
				t.Fatalf("%+v, %v", made, err)
			}
			if in := time.Until(made.Due); in < 29*time.Minute || in > 30*time.Minute+2*time.Millisecond || !made.Next.Equal(made.Due) {
				t.Errorf("it is due in %v, next %v", in, made.Next)
			}
			was := stored(t, n, name)
			if was.Labels["shop"] != "7" || was.Timeout != time.Minute || was.ExpireAfter != time.Hour || was.Retry.MaxAttempts != 7 || was.Retry.MaxAge != 0 ||
				string(was.Request.Body) != `{"id":"42","cents":7}` {
				t.Errorf("stored: %+v", was)
			}
			if _, err := closeOrder.In(ctx, s, name, 0, order{}); !errors.Is(err, foliot.ErrExists) {
				t.Errorf("again: %v", err)
			}
			later := time.Now().Add(2 * time.Hour).Truncate(time.Millisecond)
			if i, err := s.Move(ctx, name, foliot.At(later)); err != nil || !i.Due.Equal(later) {
				t.Errorf("moved: %+v, %v", i, err)
			}
			if _, err := s.Touch(ctx, name); !errors.Is(err, foliot.ErrNoDelay) {
				t.Errorf("touched: %v", err)
			}
			if i, err := closeOrder.Put(ctx, s, name, foliot.In(time.Hour), order{}); err != nil || time.Until(i.Due) > time.Hour+2*time.Millisecond {
				t.Errorf("put: %+v, %v", i, err)
			}
			if _, err := s.Touch(ctx, name); err != nil {
				t.Error(err)
			}
			if c, err := s.Cancel(ctx, name); c.UnderWay || err != nil {
				t.Errorf("cancelled: %+v, %v", c, err)
			}
			if i, err := s.Get(ctx, name); err != nil || i.State != foliot.StateCancelled {
				t.Errorf("%+v, %v", i, err)
			}
			if _, err := s.Move(ctx, name, foliot.In(0)); !errors.Is(err, foliot.ErrEnded) {
				t.Errorf("moved after its end: %v", err)
			}
			if _, err := s.Retry(ctx, name); !errors.Is(err, foliot.ErrNotDead) {
				t.Errorf("retried although it is not dead: %v", err)
			}
			if _, err := closeOrder.At(ctx, s, name+"-unset", time.Time{}, order{}); !errors.Is(err, foliot.ErrInvalid) {
				t.Errorf("at the zero time: %v", err)
			}
			if i, err := closeOrder.In(ctx, s, name+"-passed", -time.Hour, order{}); err != nil || time.Until(i.Due) > time.Second {
				t.Errorf("after a negative delay: %+v, %v", i, err)
			}
			fatal.If(t, errOf(deadOrder.In(ctx, s, name+"-dead", 0, order{})))
			state := func() foliot.State {
				i, err := s.Get(ctx, name+"-dead")
				fatal.If(t, err)
				return i.State
			}
			for deadline := time.Now().Add(time.Minute); state() != foliot.StateDead && time.Now().Before(deadline); time.Sleep(time.Millisecond) { // between two checks
			}
			if _, err := s.Move(ctx, name+"-dead", foliot.In(time.Hour)); !errors.Is(err, foliot.ErrEnded) {
				t.Errorf("a dead task is moved: %v", err)
			}
			if i, err := s.Retry(ctx, name+"-dead"); err != nil || i.State == foliot.StateDead {
				t.Errorf("retried: %+v, %v", i, err)
			}
			if _, err := s.Get(ctx, "nobody"); !errors.Is(err, foliot.ErrNotFound) {
				t.Errorf("nobody: %v", err)
			}
			if _, err := closeOrder.In(ctx, s, "two words", 0, order{}); !errors.Is(err, foliot.ErrInvalid) {
				t.Errorf("two words: %v", err)
			}
			rule := foliot.Every(time.Hour)
			rule.Overlap, rule.Missed, rule.CatchupWindow = foliot.SkipOverlap, foliot.FireAll, -1
			fatal.If(t, closeOrder.Schedule(ctx, s, name+"-hourly", rule, order{"h", 1}, foliot.InQueue("orders")))
			r := stored(t, n, "@"+name+"-hourly")
			if r.Recur.Overlap.String() != "skip" || r.Recur.Missed.String() != "fire_all" || r.Recur.CatchupWindow != 0 || r.Recur.CatchupLimit != 100 || r.Request.Kind != "close-order" || r.Recur.Queue != "orders" {
				t.Errorf("the schedule: %+v", r.Recur)
			}
			if err := s.Unschedule(ctx, name+"-hourly"); err != nil {
				t.Error(err)
			}
			if err := s.Unschedule(ctx, name+"-hourly"); !errors.Is(err, foliot.ErrNotFound) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

func TestARemoteSchedulerRefusesTheOptionsThatANodeRefuses(t *testing.T) {
	_, _, schedulers := both(t)
	for name, s := range schedulers {
		for what, o := range map[string]foliot.Option{
			"MaxAttempts(-1)": foliot.MaxAttempts(-1), "MaxAge(-1)": foliot.MaxAge(-1), "ExpireAfter(-1)": foliot.ExpireAfter(-1),
			"Timeout(0)": foliot.Timeout(0), "Backoff(0, 0)": foliot.Backoff(0, 0), "a short longest wait": foliot.Backoff(time.Hour, time.Second),
			"InQueue()": foliot.InQueue(""), "Priority(100)": foliot.Priority(100),
		} {
			if i, err := closeOrder.In(t.Context(), s, name, time.Hour, order{}, o); !errors.Is(err, foliot.ErrInvalid) {
				t.Errorf("%s, a task with %s: %+v, %v", name, what, i, err)
			}
			if err := closeOrder.Schedule(t.Context(), s, name, foliot.Every(time.Hour), order{}, o); !errors.Is(err, foliot.ErrInvalid) {
				t.Errorf("%s, a schedule with %s: %v", name, what, err)
			}
		}
	}
}

func TestARemoteSchedulerStartsTasksAtOnceThatWereDueBefore1970(t *testing.T) {
	n, c, schedulers := both(t)
	for name, s := range schedulers {
		for what, at := range map[string]time.Time{"zero": time.Unix(0, 0), "before": time.Unix(-100, 0)} {
			task := name + "-" + what
			if _, err := closeOrder.At(t.Context(), s, task, at, order{}); err != nil {
				t.Errorf("%s: %v", task, err)
			} else if got, err := c.Tasks.Wait(t.Context(), task); err != nil || got.State != client.StateDelivered {
				t.Errorf("%s: %+v, %v", task, got, err)
			}
			fatal.If(t, errOf(closeOrder.Put(t.Context(), s, task+"-moved", foliot.In(time.Hour), order{})))
			if _, err := s.Move(t.Context(), task+"-moved", foliot.At(at)); err != nil {
				t.Errorf("%s, moved: %v", task, err)
			} else if due := stored(t, n, task+"-moved").OriginalDue; due != 1 {
				t.Errorf("%s was moved to %v", task, due)
			}
		}
	}
}

func TestARemoteSchedulerStoresTheRuleThatANodeStores(t *testing.T) {
	n, _, schedulers := both(t)
	noon := time.Date(2060, 1, 1, 12, 0, 0, 0, time.UTC)
	exclusive, unbounded, interval := foliot.Cron("0 12 * * *", "Europe/Berlin"), foliot.Cron("@daily", ""), foliot.Every(time.Hour)
	exclusive.Start, exclusive.End, exclusive.SkipGaps, exclusive.BothFolds = noon.Add(1), noon.Add(-1).AddDate(1, 0, 0), true, true
	unbounded.Start, unbounded.End = time.Unix(0, 0), time.Unix(0, 1)
	interval.SkipGaps, interval.BothFolds = true, true // they matter only for a cron expression
	for what, rule := range map[string]foliot.Rule{"exclusive": exclusive, "unbounded": unbounded, "interval": interval} {
		for name, s := range schedulers {
			if err := closeOrder.Schedule(t.Context(), s, name+"-"+what, rule, order{}); err != nil {
				t.Fatalf("%s, %s: %v", name, what, err)
			}
		}
		node, remote := stored(t, n, "@node-"+what).Recur.Rule, stored(t, n, "@remote-"+what).Recur.Rule
		if remote.Anchor = node.Anchor; node != remote { // the anchor is the time of the call
			t.Errorf("%s: the Node stores %+v, and the Remote %+v", what, node, remote)
		}
	}
}

func TestARemoteSchedulerShowsATaskAsANodeDoes(t *testing.T) {
	_, c, schedulers := both(t)
	for name, s := range schedulers {
		fatal.If(t, errOf(longOrder.In(t.Context(), s, name+"-long", 0, order{}, foliot.Timeout(time.Hour))))
		<-began
		if i, err := s.Get(t.Context(), name+"-long"); err != nil || i.Attempts != 1 {
			t.Errorf("%s, during its first attempt: %+v, %v", name, i, err)
		}
		fatal.If(t, errOf(c.Queues.Pause(t.Context(), "paused")))
		if i, err := closeOrder.In(t.Context(), s, name+"-held", 0, order{}, foliot.InQueue("paused")); err != nil || i.State != foliot.StateScheduled {
			t.Errorf("%s, in a paused queue: %+v, %v", name, i, err)
		}
	}
}

func TestARemoteSchedulerFindsNoTaskWithAnInvalidName(t *testing.T) {
	_, _, schedulers := both(t)
	for name, s := range schedulers {
		for _, invalid := range []string{"", "..", "two words", "a/b", "@nightly"} {
			_, get := s.Get(t.Context(), invalid)
			_, cancel := s.Cancel(t.Context(), invalid)
			_, move := s.Move(t.Context(), invalid, foliot.In(0))
			_, touch := s.Touch(t.Context(), invalid)
			_, retry := s.Retry(t.Context(), invalid)
			for call, err := range map[string]error{"Get": get, "Cancel": cancel, "Move": move, "Touch": touch, "Retry": retry, "Unschedule": s.Unschedule(t.Context(), invalid)} {
				if !errors.Is(err, foliot.ErrNotFound) {
					t.Errorf("%s, %s of %q: %v", name, call, invalid, err)
				}
			}
		}
	}
}

func TestARemoteSchedulerTakesNoDeadNoticeFromTheQueue(t *testing.T) {
	n, c, schedulers := both(t)
	fatal.If(t, errOf(c.Queues.Put(t.Context(), "paged", client.QueueSettings{OnDead: "https://pager.example/dead"})))
	for name, s := range schedulers {
		fatal.If(t, errOf(deadOrder.In(t.Context(), s, name, time.Hour, order{}, foliot.InQueue("paged"))))
		fatal.If(t, deadOrder.Schedule(t.Context(), s, name, foliot.Every(time.Hour), order{}, foliot.InQueue("paged")))
		for _, record := range []string{name, "@" + name} {
			if url := stored(t, n, record).OnDead; url != "" {
				t.Errorf("%s notifies %s", record, url)
			}
		}
	}
}
