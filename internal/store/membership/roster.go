package membership

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Roster is the list of nodes of a registry that reads and writes it as a whole, and its
// methods are the rules. They do no I/O, and now is the registry's clock.
type Roster []*Entry

// Entry is a process of a Roster.
type Entry struct {
	Process string      `json:"process"`
	About   Peer        `json:"about"`
	Beat    task.Millis `json:"beat"`  // its last heartbeat; 0: it has left
	Until   task.Millis `json:"until"` // the end of the lease of its shards; 0: it has none
	Twin    bool        `json:"twin"`  // another process has its name
	Drained drained     `json:"drained"`
}

// drained is the order that a process must own no shards.
type drained int

const (
	undrained drained = iota
	drainedIfOthers
	drainedByForce
)

// keepDead is how long a node without heartbeats stays in the list for operators, and
// forgotten, in silences, how long it counts among the nodes.
const (
	keepDead  = time.Hour
	forgotten = 10
)

// Beat makes a heartbeat of self, and returns the nodes after it. A name belongs to the first
// process that has it, until that one leaves or is silent.
func (all Roster) Beat(mode Mode, self *Peer, silence, lease time.Duration, now task.Millis) (Roster, Found) {
	var me, holder *Entry
	all = slices.DeleteFunc(all, func(n *Entry) bool {
		n.Beat, n.Until = min(n.Beat, now), min(n.Until, now.Add(lease)) // after now: the clock was set back
		keep := keepDead
		if n.Twin {
			keep = forgotten * silence
		}
		return n.Until <= now && now.Sub(n.Beat) > keep
	})
	for _, n := range all {
		if n.About.Name == self.Name && !n.Twin {
			holder = n
		}
		if n.Process == self.Process() {
			me = n
		}
	}
	if me == nil {
		me = &Entry{Process: self.Process(), Twin: true}
		all = append(all, me)
	}
	me.About, me.Beat = *self, now
	keeps := silence
	if mode == KeepName {
		keeps = forgotten * silence
	}
	switch {
	case mode == Leave && me == holder:
		me.Twin, me.Beat = true, 0
		return all, Moved
	case mode == Leave: // another process has its name by now
		me.Beat = 0
		return all, 0
	case me == holder && me.Until > 0:
		me.Until = now.Add(lease)
		return all, 0
	case me != holder && (mode == NoName || holder != nil && now.Sub(holder.Beat) <= keeps):
		return all, Other
	}
	if holder != nil {
		holder.Twin = true
	}
	me.Twin, me.Until = false, now.Add(lease)
	return all, Moved
}

// Peers returns the nodes as Nodes requires.
func (all Roster) Peers(now task.Millis, silence time.Duration, dead bool) (list []Peer) {
	for _, n := range all {
		p := n.About
		p.Beat, p.Duplicate = min(n.Beat, now), n.Twin
		gone := now.Sub(n.Beat) > forgotten*silence
		p.Dead, p.Draining = gone && !n.Twin, n.Drained > undrained
		p.Forced = n.Drained == drainedByForce
		if !gone || dead && p.Dead {
			list = append(list, p)
		}
	}
	return list
}

// Drain applies d, and reports whether that changed anything.
func (all Roster) Drain(d store.Drain, silence time.Duration, now task.Millis) (changed bool, err error) {
	takes := func(n *Entry) bool { return !n.Twin && now.Sub(n.Beat) <= silence && n.Drained == undrained }
	i := slices.IndexFunc(all, func(n *Entry) bool { return n.About.Name == d.Node && !n.Twin && now.Sub(n.Beat) <= silence })
	if i < 0 {
		return false, &settings.MissingError{What: "node", Name: d.Node}
	}
	want := drainedIfOthers
	switch {
	case d.Undo:
		want = undrained
	case d.Force:
		want = drainedByForce
	}
	if all[i].Drained == want {
		return false, nil
	}
	if all[i].Drained = want; want == drainedIfOthers && !slices.ContainsFunc(all, takes) {
		return false, store.ErrLastNode
	}
	return true, nil
}
