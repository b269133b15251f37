package settings

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// TestAFormerRetentionIsKnownUntilItsRecordsAreGone: a queue that gets a longer
// retention, or loses its own, still has records with the old one.
func TestAFormerRetentionIsKnownUntilItsRecordsAreGone(t *testing.T) {
	put := func(finished, dead time.Duration) Edit {
		return PutQueue{Queue: QueueSettings{Namespace: "default", Name: "q", KeepFinished: finished, KeepDead: dead}}
	}
	short := edit(t, t0, NewSettings(), put(time.Minute, time.Hour))
	until := t0.Add(time.Hour + otherNodes)
	for _, c := range []struct {
		what          string
		change        Edit
		before, after task.Policy
		changed       bool
	}{
		{"longer", put(2*time.Minute, 2*time.Hour), task.Policy{KeepFinished: time.Minute, KeepDead: time.Hour}, task.Policy{KeepFinished: 2 * time.Minute, KeepDead: 2 * time.Hour}, true},
		{"dropped", DropQueue{Namespace: "default", Name: "q"}, task.Policy{KeepFinished: time.Minute, KeepDead: time.Hour}, policy, true},
		{"shorter", put(time.Second, time.Minute), task.Policy{KeepFinished: time.Second, KeepDead: time.Minute}, task.Policy{KeepFinished: time.Second, KeepDead: time.Minute}, false},
	} {
		s := edit(t, t0, short, c.change)
		if got := s.ShortestRetention(policy, "default", until-1); got != c.before {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.before)
		}
		if got := s.ShortestRetention(policy, "default", until); got != c.after {
			t.Errorf("%s, later: %+v, want %+v", c.what, got, c.after)
		}
		if noted := s.Namespace("default").Former != nil; noted != c.changed {
			t.Errorf("%s: noted %v", c.what, noted)
		}
		n := edit(t, t0, s, PutNamespace{Settings: NamespaceSettings{Name: "default", MaxPending: 1}, If: task.Precondition{}})
		if got := n.ShortestRetention(policy, "default", until-1); got != c.before || n.Namespace("default").Version != 1 {
			t.Errorf("%s: after a change of the namespace %+v, version %d", c.what, got, n.Namespace("default").Version)
		}
	}
}
