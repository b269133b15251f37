package dispatch

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// suspended suspends the namespace of these tests.
var suspended = settings.NewSettings(&settings.NamespaceSettings{Name: task.DefaultNamespace, Suspended: true})

func TestNoTaskOfASuspendedNamespaceStartsNotEvenByHand(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.Configure(suspended)
		b.create("t", time.Second)
		b.create("hand", time.Hour)
		b.apply(task.Run{Key: key("hand")})
		b.pass(time.Minute)
		b.wantCalls(0)
		if s := b.Stats(); s.Known != 0 {
			t.Errorf("a suspended namespace takes room of the window: %+v", s)
		}
		if r := b.get("t"); r.State != task.Scheduled || r.Attempts != 0 {
			t.Errorf("waiting spent an attempt: %+v", r)
		}
		b.Configure(nil)
		b.pass(tick)
		b.wantCalls(2)
	})
}

func TestSchedulesOfASuspendedNamespaceAreNotFired(t *testing.T) {
	inBubble(t, Config{}, nil, accept, func(b *bed) {
		b.schedule("a", time.Minute, func(s *task.ScheduleSpec) { s.Rule.Missed = recurrence.SkipMissed })
		b.pass(150 * time.Second)
		b.wantCalls(2)
		b.Configure(suspended)
		b.pass(time.Hour)
		b.wantCalls(2)
		b.Configure(nil)
		b.pass(2 * time.Minute)
		b.wantCalls(4)
	})
}

// The end of an occurrence must not start another one that waits for it.
func TestAWaitingOccurrenceIsNotBegunInASuspendedNamespace(t *testing.T) {
	inBubble(t, Config{}, nil, after(2500*time.Millisecond), func(b *bed) {
		b.schedule("a", time.Second, func(s *task.ScheduleSpec) { s.Rule.Overlap = recurrence.BufferOne })
		b.pass(2500 * time.Millisecond)
		b.wantCalls(1)
		b.Configure(suspended)
		b.pass(time.Hour)
		b.wantCalls(1)
		b.Configure(nil)
		b.pass(31 * time.Second)
		if len(b.seen()) < 2 {
			t.Error("a resumed namespace's schedule does not go on")
		}
	})
}
