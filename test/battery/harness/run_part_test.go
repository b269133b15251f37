package harness

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

func TestAnErrorEndsAPartAndItsCleanupsRunInReverse(t *testing.T) {
	broken := errors.New("broken")
	tr := &Run{Out: io.Discard}
	var calls []string
	note := func(name string) func() { return func() { calls = append(calls, name) } }
	err := tr.Try(func() {
		tr.Cleanup(note("redis"))
		tr.Cleanup(note("server"))
		tr.Part("one", func() {
			tr.Cleanup(note("inner"))
			note("step")()
		})
		tr.Part("two", func() {
			tr.Cleanup(note("receiver"))
			OK(0, broken)
			note("a step after the error")()
		})
		note("a part after the error")()
	})
	if !errors.Is(err, broken) || err.Error() != "two: broken" {
		t.Errorf("the run ended with %v", err)
	}
	if want := []string{"step", "inner", "receiver", "server", "redis"}; !slices.Equal(calls, want) {
		t.Errorf("the calls were %q, want %q", calls, want)
	}
}

func TestAPauseThatIsCutShortEndsThePart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	tr := &Run{Out: io.Discard}
	if err := tr.Try(func() { Pause(ctx, time.Hour) }); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
}

func TestACleanupThatFailsSkipsNoOther(t *testing.T) {
	broken, stuck := errors.New("broken"), errors.New("stuck")
	tr := &Run{Out: io.Discard}
	var calls []string
	note := func(name string) func() { return func() { calls = append(calls, name) } }
	var inner error
	err := tr.Try(func() {
		tr.Cleanup(note("outer"))
		inner = tr.Try(func() {
			tr.Cleanup(note("first"))
			tr.Cleanup(func() { panic("a fault") })
			tr.Cleanup(func() { tr.Cleanup(note("late")) })
			tr.Cleanup(func() { Check(stuck) })
			tr.Cleanup(note("last"))
			Check(broken)
		})
		note("after the part")()
	})
	if err != nil {
		t.Errorf("the outer part ended with %v", err)
	}
	if !errors.Is(inner, broken) || !errors.Is(inner, stuck) || !strings.Contains(inner.Error(), "panic: a fault\n") {
		t.Errorf("the inner part ended with %v", inner)
	}
	if want := []string{"last", "late", "first", "after the part", "outer"}; !slices.Equal(calls, want) {
		t.Errorf("the calls were %q, want %q", calls, want)
	}
}

// recordingTarget accepts every task and records its name.
type recordingTarget chan string

func (c recordingTarget) Create(_ context.Context, in wire.TaskInput) (bool, error) {
	c <- in.Name
	return true, nil
}

func (c recordingTarget) Cancel(context.Context, string) int { return 0 }

func TestTheLoadGoesOnDuringTheAttackAndHasEndedAfterIt(t *testing.T) {
	tr := &Run{Out: io.Discard, Dir: t.TempDir()}
	created := make(recordingTarget, 10_000)
	err := tr.Try(func() {
		st := tr.OpenLogs(".")
		st.Carry(t.Context(), Phases{
			Load:   &Load{Environment: st, Rate: 200, Target: created},
			Attack: func() { <-created },
		})
		if promised, all := len(st.Evidence().Accepted), 1+len(created); promised != all {
			t.Errorf("created %d, promised %d: a create was under way after the phases", all, promised)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
