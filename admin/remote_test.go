package admin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/node"
	"github.com/foliot/foliot/internal/task"
)

// order is the arguments of closeOrder.
type order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

var (
	closeOrder = foliot.NewKind[order]("close-order")
	deadOrder  = foliot.NewKind[order]("dead-order") // its handler gives up
)

// stored returns a record as it is in the store.
func stored(t *testing.T, n *foliot.Node, name string) *task.Task {
	t.Helper()
	got, err := node.Of(n).Store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestARemoteSchedulerDoesTheSameAsANode(t *testing.T) {
	mux := new(foliot.Mux)
	closeOrder.Handle(mux, func(context.Context, *foliot.Task[order]) error { return nil })
	deadOrder.Handle(mux, func(context.Context, *foliot.Task[order]) error { return foliot.Dead(errors.New("no such order")) })
	n := foliottest.Start(t, mux)
	server := httptest.NewServer(admin.Handler(n, func(*http.Request) admin.Access { return admin.Write }))
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, s := range map[string]foliot.Scheduler{"node": n, "remote": foliot.Remote(c)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			options := []foliot.Option{
				foliot.Queue("orders"), foliot.WithPriority(foliot.High), foliot.Label("shop", "7"), foliot.Timeout(time.Minute),
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
			if pending, err := s.Cancel(ctx, name); !pending || err != nil {
				t.Errorf("cancelled: %v, %v", pending, err)
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
			if _, err := deadOrder.In(ctx, s, name+"-dead", 0, order{}); err != nil {
				t.Fatal(err)
			}
			state := func() foliot.State {
				i, err := s.Get(ctx, name+"-dead")
				if err != nil {
					t.Fatal(err)
				}
				return i.State
			}
			for deadline := time.Now().Add(10 * time.Second); state() != foliot.StateDead && time.Now().Before(deadline); time.Sleep(time.Millisecond) { // between two checks
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
			if err := closeOrder.Schedule(ctx, s, name+"-hourly", rule, order{"h", 1}, foliot.Queue("orders")); err != nil {
				t.Fatal(err)
			}
			r := stored(t, n, "@"+name+"-hourly")
			if r.Recur.Overlap.String() != "skip" || r.Recur.Misfire.String() != "fire_all" || r.Recur.CatchupWindow != 0 || r.Recur.CatchupLimit != 100 || r.Request.Kind != "close-order" || r.Recur.Queue != "orders" {
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
