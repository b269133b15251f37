package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/memory"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// elsewhere is a store whose tasks other nodes own.
type elsewhere struct{ store.Store }

func (elsewhere) Owns(task.Key) bool { return false }

// receive is a receiver that behaves as its path says.
func receive(ctx context.Context, d task.Delivery) task.Outcome {
	o := task.Outcome{Verdict: task.Success, Status: 200, StartedAt: task.FloorMillis(time.Now())}
	switch url := d.Task.Request.URL; {
	case strings.HasSuffix(url, "/bad"):
		o.Verdict, o.Status = task.Failure, 500
	case strings.HasSuffix(url, "/busy"):
		o.Verdict, o.Status, o.RetryAfter = task.Snooze, 503, 30*time.Second
	case strings.HasSuffix(url, "/unsent"):
		o = task.Outcome{Verdict: task.Unsent, Error: "no file descriptor"}
	default: // it takes long
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
	}
	return o
}

func TestATaskThatIsDueOrHeldHasTheReasonWhyItDoesNotStart(t *testing.T) {
	queue := func(edit func(*settings.QueueSettings)) settings.Edit {
		q := settings.QueueSettings{Namespace: "default", Name: "mails"}
		edit(&q)
		return settings.PutQueue{Queue: q}
	}
	until := task.FloorMillis(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)) // a bubble begins an hour before
	one := dispatch.Config{Slots: 1}
	for _, c := range []struct {
		reason string
		config dispatch.Config
		edit   settings.Edit
		url    string        // of the tasks; the first one starts before the second becomes due
		until  time.Duration // when the reason ends, about; zero: unknown
		detail string
	}{
		{"suspended", one, settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "default", Suspended: true}}, "/", 0, "foliot namespace set default --no-suspended"},
		{"pause", one, settings.PauseQueue{Namespace: "default", Name: "mails", Paused: true, Until: until}, "/", time.Hour, "foliot queue resume mails"},
		{"purge", one, settings.PurgeQueue{Namespace: "default", Name: "mails"}, "/", 0, "the queue mails is being purged"},
		{"runner", one, nil, "kind", 0, "this process does not run tasks to kind/close"},
		{"breaker", dispatch.Config{BreakerFailures: 1}, nil, "/bad", time.Second, "host.test:80 failed repeatedly"},
		{"retry_after", one, nil, "/busy", 30 * time.Second, "host.test:80 asked for a delay"},
		{"per_destination", dispatch.Config{}, queue(func(q *settings.QueueSettings) { q.PerDestination = 1 }), "/", 0, "the queue mails allows"},
		{"unsent", one, nil, "/unsent", 250 * time.Millisecond, "could not send the last request to host.test:80"},
		{"concurrency", dispatch.Config{}, queue(func(q *settings.QueueSettings) { q.Concurrency = 1 }), "/", 0, "the concurrency of the queue mails"},
		{"rate", dispatch.Config{}, queue(func(q *settings.QueueSettings) { q.Rate, q.Burst = 0.1, 1 }), "/", 10 * time.Second, "the rate of the queue mails"},
		{"kind", dispatch.Config{Handlers: 4, Kinds: map[string]int{"close": 1}}, nil, "kind", 0, "no more handlers of kind/close"},
		{"quarantine", dispatch.Config{}, nil, "lost", 0, "one of them runs at a time"},
		{"slots", one, nil, "/", 0, "no free slot for attempts at host.test:80"},
		{"node", one, nil, "elsewhere", 0, "this server does not own the shard"},
		{"turn", one, nil, "stopped", 0, "nothing holds second back"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := open(t, memory.Medium{})
				defer n.Close()
				if c.url == "elsewhere" {
					n.Store = elsewhere{n.Store}
				}
				n.Connect(c.config, receive, nil)
				now := task.CeilMillis(time.Now())
				for i, name := range []string{"first", "second", "later"} {
					spec := task.DefaultSpec()
					spec.Name, spec.ID, spec.Queue, spec.When = name, task.NewID(now), "mails", task.When{Relative: true, Delay: []time.Duration{0, 100 * time.Millisecond, time.Hour}[i]}
					if spec.Request.URL = "http://host.test" + c.url; c.url == "kind" {
						spec.Request = task.Request{Kind: "close", BodyKind: task.JSONBody, Body: []byte("{}"), BodySize: 2}
					} else if !strings.HasPrefix(c.url, "/") {
						spec.Request.URL = "http://host.test/"
					}
					fatal.If(t, spec.Validate(now))
					if replies, err := n.Store.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: spec}})); err != nil || replies[0].Err != nil {
						t.Fatal(err, replies)
					}
				}
				if c.edit != nil {
					if replies, err := n.Store.Configure(t.Context(), now, []settings.Edit{c.edit}); err != nil || replies[0].Err != nil {
						t.Fatal(err, replies)
					}
				}
				if c.url == "lost" {
					time.Sleep(time.Second)
					lose(t, n.Store, "first", "second")
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				if c.url != "stopped" {
					go func() { ended <- n.Deliver(ctx) }()
				}
				time.Sleep(200 * time.Millisecond) // of the bubble
				synctest.Wait()
				waits := waitsFor(t, n, "second")
				if waits == nil || waits.Reason != c.reason || !strings.Contains(waits.Detail, c.detail) {
					t.Fatalf("got %+v", waits)
				}
				if c.until == 0 != (waits.Until == "") {
					t.Errorf("until %q", waits.Until)
				}
				if ends, err := time.Parse(time.RFC3339, waits.Until); c.until > 0 && (err != nil || time.Until(ends) <= 0 || time.Until(ends) > c.until) {
					t.Errorf("it ends in %v, %v, not within %v", time.Until(ends), err, c.until)
				}
				if by := waitsFor(t, n, "later"); (by != nil) != (c.edit != nil && c.config.Slots == 1) {
					t.Errorf("a task that is not due waits for %+v", by)
				}
				if c.config.Slots != 1 && c.reason != "breaker" {
					if by := waitsFor(t, n, "first"); by != nil {
						t.Errorf("a running task waits for %+v", by)
					}
				}
				stop()
				if c.url != "stopped" {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// waitsFor returns the reason why a task does not start.
func waitsFor(t *testing.T, n *engine.Node, name string) *wire.WaitsFor {
	t.Helper()
	got, err := n.Store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
	fatal.If(t, err)
	return n.WaitsFor(got)
}

// lose puts due tasks into quarantine: their leases are lost, again and again.
func lose(t *testing.T, s store.Store, names ...string) {
	t.Helper()
	for range task.QuarantineAfter {
		now := task.FloorMillis(time.Now())
		for _, name := range names {
			got, err := s.Get(t.Context(), task.Key{Namespace: "default", Name: name})
			fatal.If(t, err)
			replies, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: got.Key(), Lane: got.Lane(), Token: task.Token(name), Until: now}}))
			if err != nil || replies[0].Err != nil {
				t.Fatal(err, replies)
			}
		}
		if _, err := s.(store.Reaper).Reap(t.Context(), now, 100); err != nil {
			t.Fatal(err)
		}
	}
}
