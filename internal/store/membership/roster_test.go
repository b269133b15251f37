package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// A name belongs to the first process that has it, until that one leaves or is silent,
// and a drain to the process that is drained. A process that loses its name keeps the
// lease of its shards to the end, and gets no other one.
func TestANameBelongsToItsFirstProcess(t *testing.T) {
	const silence, lease, long = 3 * time.Second, 6 * time.Second, 1_000_000
	all := Roster{}
	a, again, b := &Peer{Name: "a", Nonce: "1"}, &Peer{Name: "a", Nonce: "2"}, &Peer{Name: "b", Nonce: "3"}
	for i, step := range []struct {
		at   int64
		mode Mode
		who  *Peer
		want Found
		list string
		ends int64 // the end of the lease of who
	}{
		{0, Alive, a, Moved, "a1", 6000},
		{1000, Alive, a, 0, "a1", 7000},
		{2000, Alive, again, Other, "a1 a2?", 0},
		{4000, KeepName, again, Other, "a1 a2?", 0},
		{4001, Alive, again, Moved, "a1? a2", 10_001},
		{4500, Alive, a, Other, "a1? a2", 7000},
		{5000, Alive, b, Moved, "a1? a2 b3", 11_000},
		{6000, Leave, a, 0, "a2 b3", 7000},
		{7000, Leave, again, Moved, "b3", 10_001},
		{8000, NoName, a, Other, "b3 a1?", 0},
		{40_000, Alive, a, Moved, "a1", 46_000},
		{39_000, Alive, a, 0, "a1", 45_000}, // the clock was set back
	} {
		now := task.Millis(long + step.at)
		found, list, ends := Found(0), "", task.Millis(0)
		all, found = all.Beat(step.mode, step.who, silence, lease, now)
		for _, p := range all.Peers(now, silence, false) {
			if list != "" {
				list += " "
			}
			if list += p.Name + p.Nonce; p.Duplicate {
				list += "?"
			}
		}
		for _, n := range all {
			if n.Process == step.who.Process() {
				ends = max(n.Until-long, 0)
			}
		}
		if found != step.want || list != step.list || ends != task.Millis(step.ends) {
			t.Errorf("step %d: found %d, %q, a lease until %d", i, found, list, ends)
		}
	}
	if _, err := all.Drain(store.Drain{Node: "a"}, silence, long+39_000); !errors.Is(err, store.ErrLastNode) {
		t.Errorf("the last node: %v", err)
	}
	for i, want := range []bool{true, false} {
		if changed, err := all.Drain(store.Drain{Node: "a", Force: true}, silence, long+39_000); changed != want && err == nil {
			t.Errorf("drain %d: %v, %v", i, changed, err)
		}
	}
	if p := all.Peers(long+39_000, silence, false)[0]; !p.Draining || !p.Forced {
		t.Errorf("%+v", p)
	}
}
