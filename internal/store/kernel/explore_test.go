package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

var exploreDepth = flag.Int("explore.depth", 0, "depth of the explorer, without the events that lead to a broken invariant; 0: that of the test")

// hash returns a number that is equal for equal states.
func (w *world) hash() [16]byte {
	e := encoder(make([]byte, 0, 1024))
	e.ints(int64(w.now), int64(w.owner), int64(w.epoch), int64(w.ids), int64(w.claims), int64(w.clientBegan))
	for _, c := range []*contents{&w.live, &w.synced} {
		for _, name := range slices.Sorted(maps.Keys(c.records)) {
			e.task(c.records[name])
		}
		e.ints(int64(len(c.records)), int64(len(c.entries)), int64(len(c.keys)))
	}
	for _, x := range []*write{w.client, w.nodes[0], w.nodes[1]} {
		if e.flag(x != nil); x != nil {
			e.ints(int64(x.step.Kind), int64(x.epoch))
			e.text(x.step.Key.Name)
			e.flag(x.stale)
			e.flag(x.applied)
			e.task(x.old)
			e.task(x.d.Task)
		}
	}
	for _, a := range w.attempts {
		e.ints(int64(a.node), int64(a.until))
		e.text(string(a.token))
	}
	for _, id := range slices.Sorted(maps.Keys(w.ended)) {
		e.text(id)
	}
	for _, name := range slices.Sorted(maps.Keys(w.promises)) {
		e.text(w.promises[name].id)
		e.ints(int64(w.promises[name].version))
	}
	for _, id := range slices.Sorted(maps.Keys(w.earliest)) {
		e.text(id)
		e.ints(int64(w.earliest[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(w.gone)) {
		e.text(id)
	}
	sum := sha256.Sum256(e)
	return [16]byte(sum[:16])
}

// encoder is the content of a state as bytes.
type encoder []byte

func (e *encoder) ints(list ...int64) {
	for _, n := range list {
		*e = binary.AppendVarint(*e, n)
	}
}

func (e *encoder) text(s string) { *e = append(append(*e, s...), 0) }

func (e *encoder) flag(b bool) {
	if b {
		*e = append(*e, 1)
	} else {
		*e = append(*e, 0)
	}
}

// task encodes the fields of a task that transitions of the model change.
func (e *encoder) task(t *task.Task) {
	if e.flag(t != nil); t == nil {
		return
	}
	e.text(t.Name)
	e.text(t.ID)
	e.ints(int64(t.Version), int64(t.State), int64(t.Due), int64(t.Attempts), int64(t.AttemptsUsed), int64(t.Reclaims),
		int64(t.MaybeSendingUntil), int64(t.KeepUntil), int64(len(t.Replaced)), int64(t.Delay))
	e.flag(t.CancelRequested)
	e.flag(t.Idempotency != nil)
	if e.flag(t.Lease != nil); t.Lease != nil {
		e.text(string(t.Lease.Token))
		e.text(t.Lease.TaskID)
		e.ints(int64(t.Lease.Until), int64(t.Lease.Since))
	}
}

// explore visits the states after start in the order of their depth, down to a
// depth. It returns the first broken invariant, and the number of states by depth.
func explore(start *world, names []string, depth int) (broken string, states []int) {
	level, seen := []*world{start}, map[[16]byte]bool{}
	for range depth {
		var next []*world
		for _, w := range level {
			for _, n := range w.events(names) {
				if n.broken != "" {
					return n.broken + n.path(), append(states, len(next))
				}
				if h := n.hash(); !seen[h] {
					seen[h] = true
					next = append(next, n)
				}
			}
		}
		states, level = append(states, len(next)), next
	}
	return "", states
}

// path returns the events that led to the state, one in each line.
func (w *world) path() (events string) {
	for ; w.before != nil; w = w.before {
		events = fmt.Sprintf("\n\t%d: %s", w.now, w.event) + events
	}
	return events
}

// due returns a state in which the task a was created, answered and is due.
func due(f *faults) *world {
	w := newWorld(f)
	w.ids, w.clientBegan = 1, w.now
	rounded := w.now + 1
	if f.delayRoundedDown {
		rounded = w.now
	}
	x := w.decide(w.change("create", "a"), rounded)
	w.put(x)
	w.sync()
	w.answered(x)
	w.advance()
	return w
}

// lost returns a state in which the lease of an attempt of the task a was taken
// back, while the attempt goes on.
func lost(f *faults) *world {
	w := due(f)
	t := w.live.records["a"]
	w.claims = 1
	w.nodes[0] = w.decide(store.Claims([]task.Claim{{Key: t.Key(), Lane: t.Lane(), Token: "0-1", Until: w.now + modelLease}})[0], w.now)
	w.nodePut(0)
	w.advance()
	w.nodes[0] = w.decide(store.Step{Key: t.Key(), Transition: Reap{}, Kind: store.Reaping}, w.now)
	w.nodePut(0)
	return w
}

func TestNoInterleavingBreaksAnInvariant(t *testing.T) {
	for _, c := range []struct {
		names       []string
		depth, long int
	}{{[]string{"a", "b"}, 5, 10}, {[]string{"a", "b", "c"}, 4, 8}} {
		depth := c.depth
		if !testing.Short() {
			depth = c.long
		}
		if *exploreDepth > 0 {
			depth = *exploreDepth
		}
		broken, states := explore(newWorld(&faults{}), c.names, depth)
		t.Logf("%d tasks, states by depth: %v", len(c.names), states)
		if broken != "" {
			t.Error(broken)
		}
		if broken, states = explore(due(&faults{}), c.names, depth); broken != "" {
			t.Error(broken)
		}
		t.Logf("with a task that is due: %v", states)
	}
}

func TestTheExplorerFindsEachFault(t *testing.T) {
	for name, f := range map[string]faults{
		"a claim without the stamp":             {claimIgnoresStamp: true},
		"a claim without the due time":          {claimIgnoresDue: true},
		"a claim by an owner of an older epoch": {claimIgnoresEpoch: true},
		"a settlement without the token":        {settleIgnoresToken: true},
		"a cancel of a running task with a 200": {cancelHidesAttempt: true},
		"a reply before the sync":               {replyBeforeSync: true},
		"a move that leaves its index entry":    {moveLeavesEntry: true},
		"a reap that ignores an extension":      {reapIgnoresStamp: true},
		"a replacement that drops the lease":    {replaceDropsLease: true},
		"a key that is freed by the settlement": {settleFreesKey: true},
		"a count that is not moved by a reap":   {reapMissesCount: true},
		"a delay that is rounded down":          {delayRoundedDown: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := due
			switch {
			case f.claimIgnoresDue:
				start = newWorld
			case f.settleIgnoresToken:
				start = lost
			}
			broken, states := explore(start(&f), []string{"a"}, 9)
			if broken == "" {
				t.Fatalf("not found among %v states", states)
			}
			t.Logf("%s (states %v)", broken, states)
		})
	}
}
