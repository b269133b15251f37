package settings

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

func TestPausesAndPurgesOutliveANewPut(t *testing.T) {
	s := edit(t, t0, NewSettings(), PauseQueue{Namespace: "default", Name: "q", Paused: true, Until: t0 + minute})
	s = edit(t, t0+1, s, PurgeQueue{Namespace: "default", Name: "q"})
	s = edit(t, t0+2, s, PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", Concurrency: 3}})
	q := s.Queue("default", "q")
	if !q.Paused || q.PausedUntil != t0+minute || q.PurgeBefore != t0+1001 || q.Concurrency != 3 || q.CreatedAt != t0 || q.Version != 3 {
		t.Errorf("%+v", q)
	}
	_ = refused[*BusyError](t, t0, s, DropQueue{Namespace: "default", Name: "q"})
	if !q.Held(t0 + minute) {
		t.Error("a purge under way holds the queue")
	}
	s = edit(t, t0, s, EndPurge{"default", "q", t0 + 1001, 0})
	if q := s.Queue("default", "q"); q.PurgeBefore != 0 || !q.Held(t0+minute-1) || q.Held(t0+minute) {
		t.Errorf("%+v: a pause ends at its time", q)
	}
	s = edit(t, t0, s, PauseQueue{Namespace: "default", Name: "q"})
	if q := s.Queue("default", "q"); q.Held(t0) || q.PausedUntil != 0 {
		t.Errorf("%+v: it was resumed", q)
	}
}

func TestAQueueIsPutInTheVersionThatWasSeen(t *testing.T) {
	put := func(c task.Precondition) PutQueue {
		return PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q"}, If: c}
	}
	s := NewSettings()
	if _, err := put(task.Precondition{IfMatch: []string{"*"}}).Apply(t0, s); !errors.Is(err, task.ErrPrecondition) {
		t.Errorf("no queue matches *: %v", err)
	}
	s = edit(t, t0, s, put(task.Precondition{IfNoneMatch: true}))
	if _, err := put(task.Precondition{IfNoneMatch: true}).Apply(t0, s); !errors.Is(err, task.ErrPrecondition) {
		t.Errorf("there is one: %v", err)
	}
	seen := s.Queue("default", "q").ETag()
	s = edit(t, t0, s, put(task.Precondition{IfMatch: []string{seen}}))
	if _, err := put(task.Precondition{IfMatch: []string{seen}}).Apply(t0, s); !errors.Is(err, task.ErrPrecondition) {
		t.Errorf("it was changed since: %v", err)
	}
}

func TestOnlyQueuesThatCanWorkAreTaken(t *testing.T) {
	short, long, negative := time.Microsecond, 2*time.Hour, -1
	for path, q := range map[string]QueueSettings{
		"queue":             {Name: "a b"},
		"rate":              {Name: "q", Rate: -1},
		"burst":             {Name: "q", Burst: 5},
		"concurrency":       {Name: "q", Concurrency: -1},
		"per_destination":   {Name: "q", PerDestination: MaxConcurrency + 1},
		"keep_finished":     {Name: "q", KeepFinished: -1},
		"keep_dead":         {Name: "q", KeepDead: task.MaxDuration + 1},
		"timeout":           {Name: "q", Timeout: long},
		"expire_after":      {Name: "q", ExpireAfter: -1},
		"on_dead":           {Name: "q", OnDead: "ftp://x"},
		"retry.min_backoff": {Name: "q", Retry: RetryDefaults{MinBackoff: &short}},
		"retry.max_backoff": {Name: "q", Retry: RetryDefaults{MinBackoff: &long}},
		"retry.max_attempts": {Name: "q", Retry: RetryDefaults{
			MaxAttempts: &negative,
		}},
	} {
		q.Namespace = "default"
		if path == "retry.max_backoff" {
			tiny := time.Second
			q.Retry.MaxBackoff = &tiny
		}
		if err := refused[*task.FieldError](t, t0, NewSettings(), PutQueue{Queue: q}); err != nil && err.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, rate := range []float64{1e-9, MaxRate * 2} {
		_ = refused[*task.FieldError](t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", Rate: rate}})
	}
	_ = refused[*MissingError](t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "other", Name: "q"}})
}

// A namespace's admin must not fill the memory of the server with settings of
// queues.
func TestANamespaceDecidesAboutABoundedNumberOfQueues(t *testing.T) {
	records := []Setting{&NamespaceSettings{Name: "n", Version: 1}, &NamespaceSettings{Name: "m", Version: 1}}
	for i := range maxQueues {
		records = append(records, &QueueSettings{Namespace: "n", Name: fmt.Sprint("q", i), Version: 1})
	}
	full := NewSettings(records...)
	for _, e := range []Edit{
		PutQueue{Queue: QueueSettings{Namespace: "n", Name: "one-more"}},
		PauseQueue{Namespace: "n", Name: "one-more", Paused: true},
		PurgeQueue{Namespace: "n", Name: "one-more"},
	} {
		_ = refused[*BusyError](t, t0, full, e)
	}
	edit(t, t0, full, PutQueue{Queue: QueueSettings{Namespace: "n", Name: "q0", Rate: 1}})
	edit(t, t0, full, PauseQueue{Namespace: "n", Name: "q1", Paused: true})
	edit(t, t0, full, PutQueue{Queue: QueueSettings{Namespace: "m", Name: "one-more"}})
	less := edit(t, t0, full, DropQueue{Namespace: "n", Name: "q2"})
	edit(t, t0, less, PurgeQueue{Namespace: "n", Name: "one-more"})
}

func TestAQueueFillsWhatATaskLeavesOpen(t *testing.T) {
	three, wait := 3, 7*time.Second
	q := &QueueSettings{
		Namespace: "n", Name: "q", Timeout: time.Minute, ExpireAfter: time.Hour, OnDead: "https://a.example/",
		Retry: RetryDefaults{MaxAttempts: &three, MinBackoff: &wait},
	}
	want := task.DefaultSpec()
	want.Namespace, want.Queue = "n", "q"
	want.Timeout, want.ExpireAfter, want.OnDead = time.Minute, time.Hour, "https://a.example/"
	want.Retry.MaxAttempts, want.Retry.MinBackoff = 3, wait
	if diff := cmp.Diff(want, q.Spec()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(task.DefaultSpec(), NewSettings().Queue("default", "none").Spec()); diff != "" {
		t.Error(diff)
	}
	if (&QueueSettings{Rate: 2.5}).BurstOrDefault() != 3 || (&QueueSettings{Rate: 0.1}).BurstOrDefault() != 1 || (&QueueSettings{Rate: 1, Burst: 9}).BurstOrDefault() != 9 {
		t.Error("a burst is one second's worth, at least one")
	}
}

func TestRetentionIsTheQueuesOrTheStores(t *testing.T) {
	s := edit(t, t0, NewSettings(), PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", KeepDead: time.Minute}})
	if got := s.Policy(policy, "default", "q"); got != (task.Policy{KeepFinished: policy.KeepFinished, KeepDead: time.Minute}) {
		t.Errorf("%+v", got)
	}
	if got := s.Policy(policy, "default", "other"); got != policy {
		t.Errorf("%+v", got)
	}
}

func TestResumingAQueueOfWhichNothingWasDecidedDecidesNothing(t *testing.T) {
	if changes, err := (PauseQueue{Namespace: "default", Name: "q"}).Apply(t0, NewSettings()); changes != nil || err != nil {
		t.Errorf("%+v, %v", changes, err)
	}
}
