package admin_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/memory"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/remote"
)

func TestManyTasksAreCreatedReplacedAndCancelledWithAResultForEach(t *testing.T) {
	n, _, schedulers := both(t)
	for name, s := range schedulers {
		fatal.If(t, errOf(closeOrder.In(t.Context(), s, name+"-0003", time.Hour, order{})))
		items, names := make([]foliot.Item, 2100), make([]string, 2100)
		for i := range items {
			names[i] = fmt.Sprintf("%s-%04d", name, i)
			items[i] = closeOrder.Item(names[i], foliot.In(time.Hour), order{ID: names[i]})
		}
		items[7] = closeOrder.Item("no spaces", foliot.In(0), order{})
		items[9] = foliot.NewKind[func()]("f").Item(names[9], foliot.In(0), nil)
		items[2000] = closeOrder.Item(names[2000], foliot.At(time.Time{}), order{})
		wrong := map[int]error{3: foliot.ErrExists, 7: foliot.ErrInvalid, 9: foliot.ErrInvalid, 2000: foliot.ErrInvalid}
		results, err := s.CreateMany(t.Context(), items)
		if err != nil || len(results) != len(items) {
			t.Fatalf("%s: %d results, %v", name, len(results), err)
		}
		for i, r := range results {
			if !errors.Is(r.Err, wrong[i]) || r.Err == nil && (r.Info.Name != names[i] || r.Info.State != foliot.StateScheduled || r.Info.Durability != "memory") {
				t.Errorf("%s, create %d: %+v", name, i, r)
			}
		}
		if got := string(stored(t, n, names[2099]).Request.Body); got != fmt.Sprintf(`{"id":%q,"cents":0}`, names[2099]) {
			t.Errorf("%s stored %s", name, got)
		}

		puts := []foliot.Item{closeOrder.Item(names[3], foliot.In(time.Hour), order{Cents: 2}), closeOrder.Item("no spaces", foliot.In(0), order{})}
		if results, err := s.PutMany(t.Context(), puts); err != nil || results[0].Err != nil || !errors.Is(results[1].Err, foliot.ErrInvalid) {
			t.Errorf("%s, put: %+v, %v", name, results, err)
		}
		if got := string(stored(t, n, names[3]).Request.Body); got != `{"id":"","cents":2}` {
			t.Errorf("%s put %s", name, got)
		}

		fatal.If(t, errOf(s.Cancel(t.Context(), names[5])))
		cancelled, err := s.CancelMany(t.Context(), names)
		if err != nil || len(cancelled) != len(names) {
			t.Fatalf("%s: %d results, %v", name, len(cancelled), err)
		}
		delete(wrong, 3)
		for i, c := range cancelled {
			if missing := wrong[i] != nil; errors.Is(c.Err, foliot.ErrNotFound) != missing || !missing && c.Err != nil || c.Cancelled.UnderWay || c.Cancelled.Already != (i == 5) {
				t.Errorf("%s, cancel %d: %+v", name, i, c)
			}
		}
		if results, err := s.CreateMany(t.Context(), nil); len(results) != 0 || err != nil {
			t.Errorf("%s, none: %v, %v", name, results, err)
		}
	}
}

func TestEachItemHasItsErrorAlsoAfterTheEndOfTheContext(t *testing.T) {
	_, _, schedulers := both(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for name, s := range schedulers {
		items, names := make([]foliot.Item, 2100), make([]string, 2100)
		for i := range items {
			names[i] = fmt.Sprint(name, i)
			items[i] = closeOrder.Item(names[i], foliot.In(time.Hour), order{})
		}
		results, err := s.CreateMany(ctx, items)
		if !errors.Is(err, foliot.ErrUnavailable) || slices.ContainsFunc(results, func(r foliot.Result) bool { return !errors.Is(r.Err, context.Canceled) }) {
			t.Errorf("%s, create: %v", name, err)
		}
		cancelled, err := s.CancelMany(ctx, names)
		if !errors.Is(err, foliot.ErrUnavailable) || slices.ContainsFunc(cancelled, func(r foliot.CancelResult) bool { return !errors.Is(r.Err, context.Canceled) }) {
			t.Errorf("%s, cancel: %v", name, err)
		}
	}
}

func TestListSelectsTasksByEachFieldOfTheFilter(t *testing.T) {
	_, _, schedulers := both(t)
	for name, s := range schedulers {
		now := time.Now()
		create := func(kind foliot.Kind[order], task string, w foliot.When, o ...foliot.Option) {
			fatal.If(t, errOf(kind.Put(t.Context(), s, name+task, w, order{}, o...)))
		}
		create(closeOrder, "-a", foliot.In(time.Hour), foliot.InQueue("orders"))
		create(closeOrder, "-b", foliot.In(3*time.Hour), foliot.Label("shop", "7"), foliot.Label("of", name))
		create(deadOrder, "-c", foliot.In(2*time.Hour), foliot.InQueue("orders"))
		create(deadOrder, "-dead", foliot.In(0))
		for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // between two looks
			i, err := s.Get(t.Context(), name+"-dead")
			fatal.If(t, err)
			if i.State == foliot.StateDead {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("it is %s", i.State)
			}
		}
		for what, c := range map[string]struct {
			f    foliot.Filter
			want string
		}{
			"nothing":    {foliot.Filter{}, "-a -b -c -dead"},
			"kind":       {foliot.Filter{Kind: "dead-order"}, "-c -dead"},
			"queue":      {foliot.Filter{Queue: "orders"}, "-a -c"},
			"prefix":     {foliot.Filter{Prefix: name + "-d"}, "-dead"},
			"state":      {foliot.Filter{States: []foliot.State{foliot.StateDead, foliot.StateRunning}}, "-dead"},
			"label":      {foliot.Filter{Labels: map[string]string{"shop": "7", "of": name}}, "-b"},
			"reason":     {foliot.Filter{Reason: "no_retry"}, "-dead"},
			"due":        {foliot.Filter{DueAfter: now.Add(90 * time.Minute), DueBefore: now.Add(150 * time.Minute)}, "-c"},
			"ended":      {foliot.Filter{EndedAfter: now}, "-dead"},
			"everything": {foliot.Filter{Kind: "close-order", Queue: "orders", Prefix: name, States: []foliot.State{foliot.StateScheduled}}, "-a"},
			"schedule":   {foliot.Filter{Schedule: "hourly"}, ""},
		} {
			c.f.Prefix = cmp.Or(c.f.Prefix, name)
			var got []string
			for i, err := range s.List(t.Context(), c.f) {
				fatal.If(t, err)
				got = append(got, strings.TrimPrefix(i.Name, name))
			}
			if slices.Sort(got); strings.Join(got, " ") != c.want {
				t.Errorf("%s by %s: %q, want %q", name, what, got, c.want)
			}
		}
		for _, err := range s.List(t.Context(), foliot.Filter{Prefix: name}) {
			fatal.If(t, err)
			break // the list can be left
		}
		for what, f := range map[string]foliot.Filter{
			"state": {States: []foliot.State{"asleep"}}, "prefix": {Prefix: "two words"},
		} {
			n := 0
			for _, err := range s.List(t.Context(), f) {
				if n++; !errors.Is(err, foliot.ErrInvalid) {
					t.Errorf("%s by a wrong %s: %v", name, what, err)
				}
			}
			if n != 1 {
				t.Errorf("%s by a wrong %s: %d elements", name, what, n)
			}
		}
	}
}

func TestListReadsEachPage(t *testing.T) {
	_, _, schedulers := both(t)
	items := make([]foliot.Item, 1500)
	for i := range items {
		items[i] = closeOrder.Item(fmt.Sprint("t", i), foliot.In(time.Hour), order{})
	}
	fatal.If(t, errOf(schedulers["node"].CreateMany(t.Context(), items)))
	for name, s := range schedulers {
		seen := map[string]bool{}
		for i, err := range s.List(t.Context(), foliot.Filter{Kind: closeOrder.Name()}) {
			fatal.If(t, err)
			seen[i.Name] = true
		}
		if len(seen) != len(items) {
			t.Errorf("%s: %d tasks", name, len(seen))
		}
	}
}

func TestQueuesAreReadLimitedAndPaused(t *testing.T) {
	_, c, schedulers := both(t)
	for name, s := range schedulers {
		ctx, qs := t.Context(), s.Queues()
		if _, err := qs.Get(ctx, name); !errors.Is(err, foliot.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if err := qs.Resume(ctx, name); !errors.Is(err, foliot.ErrNotFound) {
			t.Errorf("%s, resume: %v", name, err)
		}
		fatal.If(t, errOf(c.Queues.Put(ctx, name, client.QueueSettings{Timeout: time.Minute, Retry: client.Retry{MaxAttempts: 3}, ManagedBy: "ops", Rate: 1})))
		limits := foliot.QueueLimits{Rate: 0.5, Burst: 2, Concurrency: 3, PerDestination: 1}
		fatal.If(t, qs.Set(ctx, name, limits))
		until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		fatal.If(t, qs.Pause(ctx, name, until))
		fatal.If(t, errOf(closeOrder.In(ctx, s, name+"-waits", 0, order{}, foliot.InQueue(name))))
		q, err := qs.Get(ctx, name)
		if err != nil || q.Name != name || q.QueueLimits != limits || !q.Paused || !q.PausedUntil.Equal(until) || !maps.Equal(q.Tasks, map[foliot.State]int64{foliot.StateScheduled: 1}) {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
		if all, err := c.Queues.Get(ctx, name); err != nil || all.Timeout != time.Minute || all.Retry.MaxAttempts != 3 || all.ManagedBy != "ops" {
			t.Errorf("%s changed other settings: %+v, %v", name, all, err)
		}
		fatal.If(t, qs.Resume(ctx, name))
		fatal.If(t, qs.Set(ctx, name, foliot.QueueLimits{}))
		fatal.If(t, qs.Pause(ctx, name+"-new", time.Time{}))
		fatal.If(t, qs.Set(ctx, name+"-other", foliot.QueueLimits{Concurrency: 1}))
		var names []string
		for q, err := range qs.List(ctx) {
			fatal.If(t, err)
			if names = append(names, q.Name); q.Name == name && (q.Paused || q.QueueLimits != foliot.QueueLimits{}) || q.Name == name+"-new" && (!q.Paused || !q.PausedUntil.IsZero()) {
				t.Errorf("%s: %+v", name, q)
			}
		}
		for _, want := range []string{name, name + "-new", name + "-other"} {
			if !slices.Contains(names, want) || !slices.IsSorted(names) {
				t.Errorf("%s lists %q", name, names)
			}
		}
		for what, err := range map[string]error{
			"a burst without a rate": qs.Set(ctx, name, foliot.QueueLimits{Burst: 1}), "a negative rate": qs.Set(ctx, name, foliot.QueueLimits{Rate: -1}),
			"a past end": qs.Pause(ctx, name, time.Now().Add(-time.Hour)), "a wrong name": qs.Set(ctx, "two words", foliot.QueueLimits{}),
		} {
			if !errors.Is(err, foliot.ErrInvalid) || !strings.HasPrefix(err.Error(), "queue ") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func TestALocalTimeIsADueTime(t *testing.T) {
	_, _, schedulers := both(t)
	for name, s := range schedulers {
		i, err := closeOrder.Put(t.Context(), s, name, foliot.Local("2060-03-28 02:30", "Europe/Berlin"), order{}) // the clocks skip it
		if want := time.Date(2060, 3, 28, 1, 0, 0, 0, time.UTC); err != nil || !i.Due.Equal(want) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		if i, err := s.Move(t.Context(), name, foliot.Local("2060-10-31 02:30:00.5", "Europe/Berlin")); err != nil || !i.Due.Equal(time.Date(2060, 10, 31, 0, 30, 0, 5e8, time.UTC)) { // the first of two
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		for _, w := range []foliot.When{foliot.Local("tomorrow", "Europe/Berlin"), foliot.Local("2060-03-28 09:00", "Berlin")} {
			_, put := closeOrder.Put(t.Context(), s, name, w, order{})
			_, move := s.Move(t.Context(), name, w)
			if !errors.Is(put, foliot.ErrInvalid) || !errors.Is(move, foliot.ErrInvalid) || !strings.Contains(put.Error(), "such as") {
				t.Errorf("%s: %v, %v", name, put, move)
			}
		}
	}
}

// A poll looks again after a second at the latest, so only a notice explains a
// reply without any delay.
func TestSeveralServersOfANodeNoticeTheEndOfATaskUntilTheyAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		mux := new(foliot.Mux)
		closeOrder.Handle(mux, func(context.Context, *foliot.Task[order]) error { <-release; return nil })
		n := foliottest.Start(t, mux)
		var clients []*client.Client
		var servers []*admin.Server
		for range 2 {
			server := admin.New(n, func(*http.Request) admin.Access { return admin.Write })
			c, err := client.New("http://program", client.Options{HTTPClient: &http.Client{Transport: served{server}}})
			fatal.If(t, err)
			defer c.Close()
			servers, clients = append(servers, server), append(clients, c)
		}
		fatal.If(t, errOf(closeOrder.In(t.Context(), n, "a", 0, order{}, foliot.Timeout(time.Hour))))
		states := make(chan client.State)
		for _, c := range clients {
			go func() {
				got, err := c.Tasks.Poll(t.Context(), "a", time.Minute)
				if err != nil {
					t.Error(err)
				}
				states <- got.State
			}()
		}
		time.Sleep(20*time.Second + 300*time.Millisecond) // now a poll looks once a second
		ended := time.Now()
		release <- true
		if a, b := <-states, <-states; a != client.StateDelivered || b != client.StateDelivered || time.Since(ended) > 20*time.Millisecond {
			t.Errorf("%s and %s after %v", a, b, time.Since(ended))
		}

		fatal.If(t, errOf(closeOrder.In(t.Context(), n, "b", time.Hour, order{})))
		began := time.Now()
		servers[0].Close()
		servers[0].Close()
		if got, err := clients[0].Tasks.Poll(t.Context(), "b", time.Minute); err != nil || got.State != client.StateScheduled || time.Since(began) > time.Second {
			t.Errorf("a poll of a closed server: %+v, %v", got, err)
		}
	})
}

// A Remote must not fail for a value that a Node accepts, nor name another
// failure.
func TestARemoteAnswersWrongNamesAndLargeArgumentsAsANodeDoes(t *testing.T) {
	_, _, schedulers := both(t)
	for name, s := range schedulers {
		ctx := t.Context()
		for _, wrong := range []string{"", "two words", "..", "a/b", strings.Repeat("x", 300), "@hourly"} {
			_, cancel := s.Cancel(ctx, wrong)
			many, err := s.CancelMany(ctx, []string{wrong})
			fatal.If(t, err)
			_, queue := s.Queues().Get(ctx, wrong)
			for what, err := range map[string]error{
				"cancel": cancel, "cancel many": many[0].Err, "queue": queue, "resume": s.Queues().Resume(ctx, wrong), "unschedule": s.Unschedule(ctx, wrong),
			} {
				if !errors.Is(err, foliot.ErrNotFound) {
					t.Errorf("%s, %s of %.20q: %v", name, what, wrong, err)
				}
			}
			_, put := closeOrder.Put(ctx, s, wrong, foliot.In(0), order{})
			if pause := s.Queues().Pause(ctx, wrong, time.Time{}); !errors.Is(put, foliot.ErrInvalid) || !errors.Is(pause, foliot.ErrInvalid) {
				t.Errorf("%s, put and pause of %.20q: %v, %v", name, wrong, put, pause)
			}
		}
		for what, err := range map[string]error{
			"the zero Item": first(s.CreateMany(ctx, []foliot.Item{{}})), "a priority": errOf(closeOrder.In(ctx, s, name, 0, order{}, foliot.Priority(9))),
		} {
			if !errors.Is(err, foliot.ErrInvalid) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for _, size := range []int{300 << 10, 1<<20 - 100} {
			large := order{ID: strings.Repeat("x", size)}
			fatal.If(t, errOf(closeOrder.Put(ctx, s, name+"-large", foliot.In(time.Hour), large)))
			fatal.If(t, closeOrder.Schedule(ctx, s, name+"-large", foliot.Every(time.Hour), large))
		}
		for _, f := range []foliot.Filter{{States: []foliot.State{"held"}}, {Labels: map[string]string{"a=b": "c"}}} {
			for i, err := range s.List(ctx, f) {
				if !errors.Is(err, foliot.ErrInvalid) || f.Labels != nil {
					t.Errorf("%s lists by %+v: %+v, %v", name, f, i, err)
				}
			}
		}
	}
}

// first returns the error of the first result, or of the call.
func first(results []foliot.Result, err error) error {
	if len(results) == 0 {
		return err
	}
	return results[0].Err
}

// behind is a store whose node "b" applies no settings.
type behind struct{ store.Store }

func (s behind) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	replies, err := s.Store.Configure(ctx, now, edits)
	for i := range replies {
		replies[i].Unconfirmed = []string{"b"}
	}
	return replies, err
}

// Open implements engine.Medium.
func (s behind) Open(ctx context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	opened, err := memory.Medium{}.Open(ctx, c)
	opened.Store = behind{opened.Store}
	return opened, err
}

// P6: after a pause without an error, no process starts a task of the queue.
func TestAChangeOfAQueueNamesTheProcessesThatHaveNotAppliedIt(t *testing.T) {
	n, err := foliot.Open(t.Context(), engine.NewStore(behind{}).(foliot.Store), nil, foliot.Options{})
	fatal.If(t, err)
	defer n.Close()
	c, err := client.New("http://program", client.Options{HTTPClient: &http.Client{Transport: served{admin.New(n, func(*http.Request) admin.Access { return admin.Admin })}}})
	fatal.If(t, err)
	defer c.Close()
	for name, s := range map[string]foliot.Scheduler{"node": n, "remote": remote.New(c)} {
		qs := s.Queues()
		for what, err := range map[string]error{
			"set": qs.Set(t.Context(), name, foliot.QueueLimits{Concurrency: 1}), "pause": qs.Pause(t.Context(), name, time.Time{}), "resume": qs.Resume(t.Context(), name),
		} {
			if !errors.Is(err, foliot.ErrUnavailable) || !strings.Contains(err.Error(), "had not applied it: b; repeat the call") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}
