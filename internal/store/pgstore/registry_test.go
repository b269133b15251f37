package pgstore

import (
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/task"
)

// A name belongs to the first process that has it, until that one leaves or is silent,
// and a drain to the process that is drained.
func TestANameBelongsToItsFirstProcess(t *testing.T) {
	const silence = 3 * time.Second
	all := nodes{map[string]*node{}, map[string]*node{}}
	a, again, b := &membership.Peer{Name: "a", Nonce: "1"}, &membership.Peer{Name: "a", Nonce: "2"}, &membership.Peer{Name: "b", Nonce: "3"}
	for i, step := range []struct {
		at   int64
		mode membership.Mode
		who  *membership.Peer
		want membership.Found
		list string
	}{
		{0, membership.Alive, a, membership.Moved, "a1"},
		{1000, membership.Alive, a, 0, "a1"},
		{2000, membership.Alive, again, membership.Other, "a1 a2?"},
		{4000, membership.KeepName, again, membership.Other, "a1 a2?"},
		{4001, membership.Alive, again, membership.Moved, "a2"},
		{5000, membership.Alive, b, membership.Moved, "a2 b3"},
		{6000, membership.Leave, a, 0, "a2 b3"},
		{7000, membership.Leave, again, membership.Moved, "b3"},
		{8000, membership.NoName, a, membership.Other, "b3"}, // no holder to stand beside
		{40000, membership.Alive, a, membership.Moved, "a1"},
		{39000, membership.Alive, a, 0, "a1"}, // the clock was set back
	} {
		now := task.Millis(step.at)
		found, list := all.beat(step.mode, step.who, silence, now), ""
		for _, p := range all.peers(now, silence, false) {
			if list != "" {
				list += " "
			}
			if list += p.Name + p.Nonce; p.Duplicate {
				list += "?"
			}
		}
		if found != step.want || list != step.list {
			t.Errorf("step %d: found %d, %q", i, found, list)
		}
	}
	if _, err := all.drain(store.Drain{Node: "a"}, silence, 39000); !errors.Is(err, store.ErrLastNode) {
		t.Errorf("the last node: %v", err)
	}
	for i, want := range []bool{true, false} {
		if changed, err := all.drain(store.Drain{Node: "a", Force: true}, silence, 39000); changed != want && err == nil {
			t.Errorf("drain %d: %v, %v", i, changed, err)
		}
	}
	if p := all.peers(39000, silence, false)[0]; !p.Draining || !p.Forced {
		t.Errorf("%+v", p)
	}
}
