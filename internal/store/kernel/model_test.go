package kernel

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// The explorer walks every interleaving of a client and two nodes over Decide, and
// a medium that keeps records, index entries, counts and owners of Idempotency-Keys.
// A step reads the record and is decided in one event, and is written in another, if
// no other write came between. Every state is visited once, by its hash.
//
// faults switch off one rule of the medium or of the transitions each. The explorer
// must find each of them.
type faults struct {
	claimIgnoresStamp, claimIgnoresDue, claimIgnoresEpoch, settleIgnoresToken bool
	cancelHidesAttempt, replyBeforeSync, moveLeavesEntry, reapIgnoresStamp    bool
	replaceDropsLease, settleFreesKey, reapMissesCount, delayRoundedDown      bool
}

// Times of the model, in milliseconds.
const (
	modelDelay = 2
	modelSkew  = 3 // so a task seems due when it is created
	modelLease = 3
	modelKeep  = 4
)

// write is an operation that was decided and is not answered yet.
type write struct {
	step    store.Step
	d       Decision
	old     *task.Task
	stale   bool // the record changed after it was read
	epoch   int  // of the owner that read it
	applied bool // written, perhaps not synced
}

// attempt is an attempt that a node has begun.
type attempt struct {
	node  int
	key   string
	id    string
	token task.Token
	until task.Millis
}

// promise is the content of a reply that said that it is durable.
type promise struct {
	id      string
	version uint64
}

// age orders the ids of the model.
func age(id string) (n int) {
	_, _ = fmt.Sscanf(id, "id-%d", &n) // every id of the model has this form
	return n
}

// contents are the part of a state that a power loss can take back.
type contents struct {
	records map[string]*task.Task
	entries map[string]string // index entry → name
	counts  [task.Dead + 1]int
	keys    map[string]string // Idempotency-Key → name
}

func (c contents) clone() contents {
	c.records, c.entries, c.keys = maps.Clone(c.records), maps.Clone(c.entries), maps.Clone(c.keys)
	return c
}

// world is a state of the model. It is changed only before it is visited.
type world struct {
	f            *faults
	now          task.Millis
	live, synced contents
	owner, epoch int
	client       *write
	clientBegan  task.Millis // the true time of the client's operation, rounded down
	nodes        [2]*write
	attempts     []attempt
	ended        map[string]bool // ids whose cancel was answered with 200, without an attempt that may be under way
	promises     map[string]promise
	earliest     map[string]task.Millis // id → when its delay has passed in true time
	gone         map[string]bool        // ids that were removed or replaced
	ids, claims  int
	broken       string // the invariant that does not hold

	before *world // and event: how the state was reached
	event  string
}

func (w *world) clone() *world {
	n := *w
	n.live, n.synced = w.live.clone(), w.synced.clone()
	n.attempts, n.ended, n.promises = slices.Clone(w.attempts), maps.Clone(w.ended), maps.Clone(w.promises)
	n.earliest, n.gone = maps.Clone(w.earliest), maps.Clone(w.gone)
	copied := func(x *write) *write {
		if x == nil {
			return nil
		}
		y := *x
		return &y
	}
	n.client, n.nodes = copied(w.client), [2]*write{copied(w.nodes[0]), copied(w.nodes[1])}
	return &n
}

func newWorld(f *faults) *world {
	empty := contents{records: map[string]*task.Task{}, entries: map[string]string{}, keys: map[string]string{}}
	return &world{
		f: f, now: 1000, live: empty, synced: empty.clone(), owner: 0, epoch: 1,
		ended: map[string]bool{}, promises: map[string]promise{}, earliest: map[string]task.Millis{}, gone: map[string]bool{},
	}
}

// Settings, Retention, Quota, Unfinished and Room implement Facts.
func (w *world) Settings() *settings.Settings { return noSettings }

func (w *world) Retention() task.Policy {
	return task.Policy{KeepFinished: modelKeep * time.Millisecond, KeepDead: modelKeep * time.Millisecond}
}
func (w *world) Quota(string) task.Quota   { return task.Quota{} }
func (w *world) Unfinished(task.Key) int64 { return 0 }
func (w *world) Room(Need) error           { return nil }

var noSettings = settings.NewSettings()

// clock returns the clock of a node: that of the second node is ahead of the
// medium's.
func (w *world) clock(node int) task.Millis { return w.now + modelSkew*task.Millis(node) }

// entriesOf returns the index entries of t as texts.
func entriesOf(t *task.Task) []string {
	var all []string
	for _, e := range EntriesOf(t) {
		all = append(all, fmt.Sprint(e.Index, "/", e.At, "/", t.Name))
	}
	return all
}

func (w *world) break_(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

// decide reads the record and decides a step.
func (w *world) decide(st store.Step, now task.Millis) *write {
	old := w.live.records[st.Key.Name]
	owner := w.live.keys[task.KeyOf(st.Transition)]
	if s, ok := st.Transition.(task.Settlement); ok && w.f.settleIgnoresToken && old != nil && old.Lease != nil {
		s.Token = old.Lease.Token
		st.Transition = s
	}
	d := Decide(now, settings.Actor{}, &st, owner, old, w)
	if _, replaces := st.Transition.(task.Replace); replaces && w.f.replaceDropsLease && d.Applied && d.Task != old && d.Task.Lease != nil {
		t := d.Task.Clone()
		t.State, t.Lease = task.Scheduled, nil
		d.Task = t
	}
	return &write{step: st, d: d, old: old, epoch: w.epoch}
}

// put writes a decision as the medium does: the record with its entries, counts and
// key, in one piece.
func (w *world) put(x *write) {
	t, old := x.d.Task, w.live.records[x.step.Key.Name]
	c := &w.live
	if old != nil {
		if !(w.f.moveLeavesEntry && t != nil && old.State == task.Scheduled && t.State == task.Scheduled) {
			for _, e := range entriesOf(old) {
				delete(c.entries, e)
			}
		}
		c.counts[old.State]--
		if old.Idempotency != nil {
			delete(c.keys, old.Idempotency.Key)
		}
	}
	if old != nil && (t == nil || t.ID != old.ID) {
		w.gone[old.ID] = true
	}
	if t == nil {
		delete(c.records, x.step.Key.Name)
	} else {
		c.records[t.Name] = t
		for _, e := range entriesOf(t) {
			c.entries[e] = t.Name
		}
		c.counts[t.State]++
		if t.Idempotency != nil && !(w.f.settleFreesKey && x.step.Kind == store.Settlement) {
			c.keys[t.Idempotency.Key] = t.Name
		}
		if w.f.reapMissesCount && x.step.Kind == store.Reaping {
			c.counts[t.State]--
			c.counts[old.State]++
		}
	}
	for _, other := range []*write{w.client, w.nodes[0], w.nodes[1]} {
		if other != nil && other != x && other.step.Key == x.step.Key && !other.applied {
			other.stale = true
		}
	}
	x.applied = true
}

func (w *world) sync() { w.synced = w.live.clone() }

// events returns the states after each possible event.
func (w *world) events(names []string) (next []*world) {
	try := func(event string, do func(n *world) bool) {
		n := w.clone()
		if *exploreDepth == 0 { // a deeper run has no room for all states
			n.before, n.event = w, event
		}
		if do(n) {
			n.check()
			next = append(next, n)
		}
	}
	w.clientEvents(names, try)
	for i := range w.nodes {
		w.nodeEvents(i, names, try)
	}
	try("the time passes", func(n *world) bool { return n.advance() })
	try("a power loss, and a restart that takes all leases back", func(n *world) bool {
		n.live, n.client, n.nodes, n.attempts = n.synced.clone(), nil, [2]*write{}, nil
		for _, name := range slices.Sorted(maps.Keys(n.live.records)) {
			st := store.Step{Key: key(name), Transition: Reap{Gone: true}, Kind: store.Reaping}
			if x := n.decide(st, n.now); x.d.Applied {
				n.put(x)
			}
		}
		n.sync()
		return true
	})
	try("the shard changes hands", func(n *world) bool {
		if w.epoch > 2 {
			return false
		}
		n.owner, n.epoch = 1-n.owner, n.epoch+1
		return true
	})
	return next
}

func key(name string) task.Key { return task.Key{Namespace: task.DefaultNamespace, Name: name} }

// clientEvents are those of a client that makes one change at a time. Its clock
// stands between two milliseconds, so that rounding matters.
func (w *world) clientEvents(names []string, try func(string, func(n *world) bool)) {
	if w.client == nil {
		if w.ids > 3 {
			return
		}
		for _, name := range names {
			for _, kind := range []string{"create", "put", "cancel", "move", "touch", "retry"} {
				try("the client begins to "+kind+" "+name, func(n *world) bool {
					n.ids++
					n.clientBegan = n.now
					rounded := n.now + 1
					if n.f.delayRoundedDown {
						rounded = n.now
					}
					n.client = n.decide(n.change(kind, name), rounded)
					return n.client.d.Applied && n.replyUnlessWritten()
				})
			}
		}
		return
	}
	if !w.client.applied {
		try("the write of the client, or another read if the record has changed", func(n *world) bool {
			if n.client.stale {
				n.client = n.decide(n.client.step, n.clientBegan+1)
				return n.replyUnlessWritten()
			}
			n.put(n.client)
			if n.f.replyBeforeSync {
				n.answered(n.client)
			}
			return true
		})
		return
	}
	try("the client is answered", func(n *world) bool {
		n.sync()
		n.answered(n.client)
		n.client = nil
		return true
	})
	try("the reply to the client is lost", func(n *world) bool {
		n.client = nil
		return true
	})
}

func (w *world) change(kind, name string) store.Step {
	s := task.DefaultSpec()
	s.Namespace, s.Name, s.ID, s.Request.URL = task.DefaultNamespace, name, fmt.Sprint("id-", w.ids), "https://receiver.example"
	s.When = task.When{Relative: true, Delay: modelDelay * time.Millisecond}
	moved := task.When{Relative: true, Delay: 3 * modelDelay * time.Millisecond}
	var c task.Change
	switch kind {
	case "create":
		c = task.Create{Spec: s, Idempotency: &task.Idempotency{Key: "key-" + name}}
	case "put":
		c = task.Replace{Spec: s}
	case "cancel":
		c = task.Cancel{Key: key(name)}
	case "move":
		c = task.Patch{Key: key(name), When: &moved}
	case "touch":
		c = task.Touch{Key: key(name)}
	default:
		c = task.Revive{Key: key(name)}
	}
	return store.Changes([]task.Change{c})[0]
}

// replyUnlessWritten answers a client whose change writes nothing.
func (w *world) replyUnlessWritten() bool {
	if w.client.d.Writes {
		return true
	}
	if w.client.d.Applied {
		w.sync()
		w.answered(w.client)
	}
	w.client = nil
	return true
}

// answered records the promises of a reply to a client.
func (w *world) answered(x *write) {
	t := x.d.Task
	w.promises[t.Name] = promise{t.ID, t.Version}
	switch x.step.Transition.(type) {
	case task.Cancel:
		if w.f.cancelHidesAttempt || !x.d.UnderWay && x.d.Effect != task.Accepted {
			w.ended[t.ID] = true
			if slices.ContainsFunc(w.attempts, func(a attempt) bool { return a.id == t.ID }) {
				w.break_("an attempt of %s was under way when its cancel was answered with 200", t.ID)
			}
		}
	case task.Create, task.Replace, task.Patch, task.Touch:
		if t.State == task.Scheduled && x.d.Effect != task.Repeated {
			w.earliest[t.ID] = w.clientBegan + modelDelay // the attempt must begin after it, since the clock stood between
		}
		delete(w.ended, t.ID)
	case task.Revive:
		delete(w.ended, t.ID)
		delete(w.earliest, t.ID)
	}
}

func (w *world) nodeEvents(i int, names []string, try func(string, func(n *world) bool)) {
	x := w.nodes[i]
	for _, name := range names {
		t := w.live.records[name]
		if t == nil || x != nil {
			continue
		}
		if w.owner == i {
			begin := func(st store.Step) {
				try(fmt.Sprintf("node %d begins %T of %s", i, st.Transition, name), func(n *world) bool {
					y := n.decide(st, n.clock(i))
					if n.nodes[i] = y; !y.d.Writes {
						return false
					}
					return true
				})
			}
			if t.State == task.Scheduled && w.claims < 3 {
				try(fmt.Sprintf("node %d begins to claim %s", i, name), func(n *world) bool {
					n.claims++
					c := task.Claim{Key: t.Key(), Lane: t.Lane(), Token: task.Token(fmt.Sprint(i, "-", n.claims)), Until: n.clock(i) + modelLease}
					y := n.decide(store.Claims([]task.Claim{c})[0], n.clock(i))
					n.nodes[i] = y
					return y.d.Writes
				})
			}
			if t.State == task.Running {
				begin(store.Step{Key: t.Key(), Transition: Reap{}, Kind: store.Reaping})
			}
			if !t.State.Live() {
				begin(store.Step{Key: t.Key(), Transition: Remove{}, Kind: store.Removal})
			}
		}
	}
	if x != nil {
		try(fmt.Sprintf("node %d writes", i), func(n *world) bool { n.nodePut(i); return true })
	}
	for at, a := range w.attempts {
		if a.node != i {
			continue
		}
		for _, verdict := range []task.Verdict{task.Success, task.Refusal} {
			try(fmt.Sprintf("node %d settles %s with %v", i, a.token, verdict), func(n *world) bool {
				n.attempts = slices.Delete(n.attempts, at, at+1)
				y := n.decide(store.Settlements([]task.Settlement{{Key: key(a.key), Token: a.token, Outcome: task.Outcome{Verdict: verdict}}})[0], n.clock(i))
				if y.d.Applied {
					if y.step.Transition.(task.Settlement).Token != a.token {
						n.break_("a settlement with the token %q ended the lease of another", a.token)
					}
					n.put(y)
				}
				return true
			})
		}
		try(fmt.Sprintf("node %d extends %s", i, a.token), func(n *world) bool {
			y := n.decide(store.Extensions([]task.Extension{{Key: key(a.key), Token: a.token, Until: n.clock(i) + modelLease}})[0], n.clock(i))
			if !y.d.Applied || n.attempts[at].until == n.clock(i)+modelLease {
				return false
			}
			n.put(y)
			n.attempts[at].until = n.clock(i) + modelLease
			return true
		})
	}
	if x != nil || slices.ContainsFunc(w.attempts, func(a attempt) bool { return a.node == i }) {
		try(fmt.Sprintf("node %d dies", i), func(n *world) bool {
			n.nodes[i] = nil
			n.attempts = slices.DeleteFunc(n.attempts, func(a attempt) bool { return a.node == i })
			return true
		})
	}
}

// nodePut writes the decision of a node, if the medium accepts it.
func (w *world) nodePut(i int) {
	x := w.nodes[i]
	w.nodes[i] = nil
	claims, reaps := x.step.Kind == store.Claim, x.step.Kind == store.Reaping
	switch {
	case x.stale && !(claims && w.f.claimIgnoresStamp) && !(reaps && w.f.reapIgnoresStamp):
		return
	case (w.owner != i || x.epoch != w.epoch) && !(claims && w.f.claimIgnoresEpoch):
		return
	case claims && x.old.Due > w.now && !w.f.claimIgnoresDue:
		return
	case reaps && x.old.Lease.Until > w.now:
		return
	case x.step.Kind == store.Removal && x.old.KeepUntil > w.now:
		return
	}
	w.put(x)
	if !claims || x.d.Err != nil {
		return
	}
	t := x.d.Task
	switch {
	case w.owner != i || x.epoch != w.epoch:
		w.break_("a node that is not the owner began an attempt of %s", t.Name)
	case t.Due > w.now:
		w.break_("an attempt of %s began at %d, %d ms early", t.Name, w.now, t.Due-w.now)
	case w.ended[t.ID]:
		w.break_("an attempt of %s began after its cancel was answered", t.ID)
	}
	if at, ok := w.earliest[t.ID]; ok && w.now <= at {
		w.break_("an attempt of %s began before its delay had passed", t.ID)
	}
	for _, a := range w.attempts {
		if a.key == t.Name && a.until > w.clock(a.node) && a.until > w.now {
			w.break_("two attempts of %s: the lease of the first ends at %d, now is %d", t.Name, a.until, w.now)
		}
	}
	w.attempts = append(w.attempts, attempt{i, t.Name, t.ID, t.Lease.Token, t.Lease.Until})
}

// advance moves the time to the next instant that matters.
func (w *world) advance() bool {
	next := task.Millis(0)
	for _, t := range w.live.records {
		var at task.Millis
		switch t.State {
		case task.Scheduled:
			at = t.Due
		case task.Running:
			at = t.Lease.Until
		default:
			at = t.KeepUntil
		}
		if at > w.now && (next == 0 || at < next) {
			next = at
		}
	}
	if next == 0 {
		return false
	}
	w.now = next
	return true
}

// check checks the invariants of a state.
func (w *world) check() {
	c := &w.live
	var counts [task.Dead + 1]int
	entries := 0
	for name, t := range c.records {
		counts[t.State]++
		for _, e := range entriesOf(t) {
			if entries++; c.entries[e] != name {
				w.break_("%s has no index entry %q", name, e)
			}
		}
		if t.Idempotency != nil && c.keys[t.Idempotency.Key] != name {
			w.break_("the Idempotency-Key of %s is free", name)
		}
	}
	if len(c.entries) != entries {
		w.break_("%d index entries, and the records have %d", len(c.entries), entries)
	}
	if counts != c.counts {
		w.break_("counts %v of records %v", c.counts, counts)
	}
	for name, p := range w.promises {
		switch t := c.records[name]; {
		case t == nil && !w.gone[p.id]:
			w.break_("%s was answered, and is not there", name)
		case t != nil && (age(t.ID) < age(p.id) || t.ID == p.id && t.Version < p.version):
			w.break_("version %d of %s was answered, and the record has %d of %s", p.version, p.id, t.Version, t.ID)
		}
	}
	for _, a := range w.attempts {
		if t := c.records[a.key]; a.until > w.now && (t == nil || t.Lease == nil || t.Lease.Token != a.token) {
			w.break_("the attempt of %s has no lease before its end", a.key)
		}
	}
}
