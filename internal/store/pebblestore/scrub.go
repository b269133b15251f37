package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// scrubbed are the key spaces that a scrub walks, in this order. Records come
// first, so that missing entries are restored before the entries are examined.
var scrubbed = []string{taskPrefix, bodyPrefix, idemPrefix, duePrefix, runPrefix, deadPrefix, donePrefix, keepPrefix}

// scrub is one step of a scrub. The committer takes a snapshot between two batches, the
// caller examines it, and the committer finishes the step. A fault in the snapshot is
// only a doubt: the committer checks the present state again, and repairs it, so
// writers are delayed only by doubts.
type scrub struct {
	now   task.Millis
	limit int
	space int    // the index in scrubbed where the step begins
	after []byte // the last key examined in that space; nil means none

	view     *pebble.Snapshot
	read     bool // the snapshot was examined
	examined int
	next     string
	doubts   [][]byte     // keys
	back     []store.Step // take back leases that no process holds
	counted  kernel.Tally // the records that were examined
	to       []byte       // the key of the last one
	last     bool         // it is the last record of all
	repairs  []store.Repair
}

// Scrub implements store.Scrubber, with the last key that was examined as the cursor.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (store.Scrubbed, error) {
	sc := &scrub{now: now, limit: max(limit, 1), counted: kernel.Tally{}}
	if cursor == "" {
		s.abandoned.Begin()
	} else {
		sc.space, sc.after = slices.IndexFunc(scrubbed, func(prefix string) bool { return strings.HasPrefix(cursor, prefix) }), []byte(cursor)
		if sc.space < 0 {
			return store.Scrubbed{}, fmt.Errorf("scrub: invalid cursor %q", cursor)
		}
	}
	if err := ctx.Err(); err != nil {
		return store.Scrubbed{}, err
	}
	var refused error
	err := s.locked("scrub", func() (err error) {
		// Without the end of ctx, because the snapshot must be closed; nothing waits
		// for a sync.
		if _, refused = s.submit(context.WithoutCancel(ctx), &request{scrub: sc, urgent: true}); refused != nil {
			return nil
		}
		defer func() { err = errors.Join(err, sc.view.Close()) }()
		return s.walk(sc)
	})
	if err = cmp.Or(err, refused); err != nil {
		return store.Scrubbed{}, err
	}
	sc.read = true
	if _, err := s.submit(ctx, &request{now: now, scrub: sc, urgent: true}); err != nil {
		return store.Scrubbed{}, err
	}
	if sc.next == "" {
		s.abandoned.End()
	}
	return store.Scrubbed{Examined: sc.examined, Repairs: sc.repairs, Next: sc.next}, nil
}

func (s *Store) walk(sc *scrub) error {
	for i, prefix := range scrubbed[sc.space:] {
		lower := []byte(prefix)
		if i == 0 && sc.after != nil {
			lower = append(bytes.Clone(sc.after), 0)
		}
		whole, err := each(sc.view, lower, prefixEnd([]byte(prefix)), func(key, value []byte) (more bool, err error) {
			if sc.examined == sc.limit {
				return false, nil
			}
			sc.examined++
			sc.next = string(key)
			return true, s.examine(sc, key, value)
		})
		if err != nil || !whole {
			return err
		}
		sc.last = sc.last || prefix == taskPrefix
	}
	sc.next = ""
	return nil
}

func (s *Store) examine(sc *scrub, key, value []byte) error {
	f, err := faultOf(sc.view, key, value)
	if err != nil {
		return err
	}
	switch prefix := prefixOf(key); {
	case f.found != "" || prefix == duePrefix && !s.lanes.Covers(f.task.Entry()):
		sc.doubts = append(sc.doubts, bytes.Clone(key))
	case prefix == runPrefix:
		if back, abandoned := s.abandoned.Find(sc.now, f.task); abandoned {
			sc.back = append(sc.back, back)
		}
	}
	if bytes.HasPrefix(key, []byte(taskPrefix)) {
		sc.counted.Move(nil, f.task)
		sc.to = append(sc.to[:0], key...)
	}
	return nil
}

func (c *committer) scrub(r *request) error {
	if err := c.commit(); err != nil {
		return err
	}
	sc := r.scrub
	if !sc.read {
		sc.view = c.db.NewSnapshot()
		c.recount.begin(sc)
		return nil
	}
	for _, key := range sc.doubts {
		if err := c.repair(r, key); err != nil {
			return err
		}
		if err := c.commit(); err != nil { // so that the next look sees the repair
			return err
		}
	}
	for _, st := range sc.back {
		reply, err := c.step(r, &st)
		if err != nil {
			return err
		}
		if reply.Err == nil {
			sc.found(st.Key, store.FoundAbandoned)
		}
	}
	c.filling.steps += len(sc.repairs)
	if c.recount.end(sc) {
		return c.compare(r)
	}
	return nil
}

func (sc *scrub) found(key task.Key, what string) {
	sc.repairs = append(sc.repairs, store.Repair{Key: key, Found: what})
}

// repair examines a key again, and repairs its errors: it writes the entries of a
// record, or removes an entry that belongs to none. A lane that does not cover its
// entry is corrected in memory.
func (c *committer) repair(r *request, key []byte) error {
	value, err := getValue(c.db, key)
	if err != nil || value == nil {
		return err
	}
	f, err := faultOf(c.db, key, value)
	switch {
	case err != nil:
		return err
	case f.found == "" && prefixOf(key) == duePrefix && !c.lanes.Covers(f.task.Entry()):
		c.filling.scheduled = append(c.filling.scheduled, f.task.Entry()) // as if it were new
		r.scrub.found(f.owner, "its lane had a bound after it, so the task would have been late")
		return nil
	case f.found == "":
		return nil
	}
	c.touch(r)
	r.scrub.found(f.owner, f.found)
	if !f.lacks {
		return c.open().Delete(key, nil)
	}
	return c.restore(f.task)
}

// restore writes all entries of t.
func (c *committer) restore(t *task.Task) error {
	b := c.open()
	if t.State == task.Scheduled {
		c.filling.scheduled = append(c.filling.scheduled, t.Entry())
	}
	for _, e := range kernel.EntriesOf(t) {
		if err := b.Set(appendEntryKey(nil, t, e), appendEntryValue(nil, t, e.Index), nil); err != nil {
			return err
		}
	}
	owner, err := c.keyOwner(idemKey{t.Namespace, digest(t)})
	if err != nil || owner != "" {
		return err
	}
	return c.putKeyOwner(b, t.Namespace, digest(t), t.Name)
}

// recount counts all records while a scrub walks over them. A change up to at moves the
// recount, and one after that, during a step, moves it if the step has passed the
// record when it ends. So the result is exact, for any number of changes.
type recount struct {
	kernel.Tally          // nil: no scrub counts
	at           []byte   // the records up to this key are counted; nil means none
	step         *scrub   // under way
	later        []change // since the step began, after at
	key          []byte   // scratch
}

type change struct {
	key    []byte
	old, t *task.Task
}

// maxLater bounds the changes during one step, and with more of them, the next scrub
// counts.
const maxLater = 20_000

func (r *recount) begin(sc *scrub) {
	switch {
	case sc.space > 0:
		return
	case sc.after == nil:
		*r = recount{Tally: kernel.Tally{}}
	case !bytes.Equal(sc.after, r.at):
		*r = recount{} // the step does not continue the recount
	}
	r.step, r.later = sc, nil
}

// move counts the change of a record from old to t, either of them nil for no record.
func (r *recount) move(key task.Key, old, t *task.Task) {
	if r.Tally == nil {
		return
	}
	r.key = appendTaskKey(r.key[:0], taskPrefix, key)
	switch {
	case bytes.Compare(r.key, r.at) <= 0:
		r.Move(old, t)
	case r.step == nil: // a later step counts the record
	case len(r.later) == maxLater:
		*r = recount{}
	default:
		r.later = append(r.later, change{bytes.Clone(r.key), old, t})
	}
}

// end ends a step, and reports whether all records are counted.
func (r *recount) end(sc *scrub) (all bool) {
	if r.step != sc || r.Tally == nil {
		return false
	}
	for key, n := range sc.counted {
		r.Add(key, n)
	}
	for _, m := range r.later {
		if sc.last || bytes.Compare(m.key, sc.to) <= 0 {
			r.Move(m.old, m.t)
		}
	}
	r.at, r.step, r.later = sc.to, nil, nil
	return sc.last
}

// compare corrects the counts that differ from the recount, in memory or on disk.
func (c *committer) compare(r *request) error {
	if err := c.commit(); err != nil { // the database has the counts after all steps
		return err
	}
	stored, err := loadCounts(c.db)
	if err != nil {
		return err
	}
	want, said := c.recount.Tally, maps.Clone(c.counters.queues)
	c.recount = recount{}
	for key := range merged(want, said, stored) {
		if n := want[key]; said[key] != n || stored[key] != n {
			counted, onDisk := said[key], stored[key]
			c.touch(r)
			c.open()
			c.counters.set(key, n)
			r.scrub.found(task.Key{Namespace: key.Namespace}, kernel.FoundCounts(key, min(counted.Total(), onDisk.Total())-n.Total()))
		}
	}
	return nil
}

// merged returns the queues of all of these.
func merged(all ...kernel.Tally) map[task.QueueKey]bool {
	queues := map[task.QueueKey]bool{}
	for _, y := range all {
		for key := range y {
			queues[key] = true
		}
	}
	return queues
}
