package webhook

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/task"
)

const (
	theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	ours   = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
)

func TestAnAttemptCarriesTheTraceItBelongsTo(t *testing.T) {
	traced := func(ctx context.Context, _ task.Delivery) (context.Context, string, func(task.Outcome)) {
		return ctx, ours, func(task.Outcome) {}
	}
	silent := func(ctx context.Context, _ task.Delivery) (context.Context, string, func(task.Outcome)) {
		return ctx, "", func(task.Outcome) {}
	}
	for _, c := range []struct {
		name   string
		config Config
		edit   func(*task.Spec)
		want   string
	}{
		{"no tracer", Config{}, func(*task.Spec) {}, traceparent("0198c0de-0000-7000-8000-000000000042", 1)},
		{"the creator traces", Config{}, func(s *task.Spec) { s.Trace = theirs }, theirs},
		{"we trace", Config{Trace: traced}, func(s *task.Spec) { s.Trace = theirs }, ours},
		{"we trace, but not this one", Config{Trace: silent}, func(s *task.Spec) { s.Trace = theirs }, theirs},
		{"the task sets the header", Config{Trace: traced}, header("TraceParent", theirs), theirs},
	} {
		url, requests := receiver(t)
		newSender(t, c.config).Deliver(t.Context(), delivery(t, url, c.edit))
		if got := (<-requests).Header.Values("Traceparent"); !cmp.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestATraceSeesTheContextAndTheOutcomeOnce(t *testing.T) {
	url, _ := receiver(t)
	stop := errors.New("stop")
	var ended []task.Outcome
	d := delivery(t, url)
	s := newSender(t, Config{Trace: func(ctx context.Context, seen task.Delivery) (context.Context, string, func(task.Outcome)) {
		if seen.Task != d.Task || seen.Number != 1 {
			t.Errorf("traced %+v", seen)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		if seen.Task.Queue == "stopped" {
			cancel(stop)
		}
		return ctx, "", func(o task.Outcome) { ended = append(ended, o); cancel(nil) }
	}})
	sent := s.Deliver(t.Context(), d)
	d.Task.Queue = "stopped"
	unsent := s.Deliver(t.Context(), d)
	if sent.Verdict != task.Success || unsent.Verdict != task.Unsent {
		t.Errorf("verdicts %v and, under an ended context, %v", sent.Verdict, unsent.Verdict)
	}
	if diff := cmp.Diff([]task.Outcome{sent, unsent}, ended); diff != "" {
		t.Errorf("the trace saw (-want +got):\n%s", diff)
	}
}
