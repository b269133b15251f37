package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// repair is the committer's work for a scrub. The committer checks doubtful
// records and entries again, repairs those that are still wrong, and counts the
// records that were examined.
type repair struct {
	records []task.Key   // records that may lack an entry
	entries [][]byte     // entries that may belong to no record
	back    []store.Step // take back leases that no process holds

	first    bool   // the scrub begins here
	count    bool   // records were examined: those after from, up to to
	from, to string // names as in keys
	last     bool   // to the end

	repairs []store.Repair
}

// repair makes the repairs of r. It begins a new batch, so that the database
// shows the results of the steps before.
func (c *committer) repair(r *request) error {
	if err := c.commit(); err != nil {
		return err
	}
	m := r.repair
	for _, key := range m.records {
		if err := c.repairRecord(r, key); err != nil {
			return err
		}
	}
	if err := c.commit(); err != nil {
		return err
	}
	for _, key := range m.entries {
		if err := c.repairEntry(r, key); err != nil {
			return err
		}
	}
	for _, st := range m.back {
		reply, err := c.step(r, &st)
		if err != nil {
			return err
		}
		if reply.Err == nil {
			m.found(st.Key, store.FoundAbandoned)
		}
	}
	c.filling.steps += len(m.repairs)
	m.records, m.entries, m.back = nil, nil, nil
	return c.count(r)
}

func (m *repair) found(key task.Key, problem string) {
	m.repairs = append(m.repairs, store.Repair{Key: key, Found: problem})
}

// repairRecord writes the missing entries of a record.
func (c *committer) repairRecord(r *request, key task.Key) error {
	t, err := getRecord(c.db, key)
	if err != nil || t == nil {
		return err
	}
	lacks, err := lacking(c.db, t)
	if err != nil || lacks == "" {
		return err
	}
	c.touch(r)
	b := c.open()
	if t.State == task.Scheduled {
		c.filling.scheduled = append(c.filling.scheduled, t.Entry())
	}
	r.repair.found(key, lacks)
	for _, e := range kernel.EntriesOf(t) {
		if err := b.Set(appendEntryKey(nil, t, e), appendEntryValue(nil, t, e.Index), nil); err != nil {
			return err
		}
	}
	owner, err := c.keyOwner(idemKey{key.Namespace, digest(t)})
	if err != nil || owner != "" {
		return err
	}
	return c.putKeyOwner(b, key.Namespace, digest(t), t.Name)
}

// repairEntry removes an entry that belongs to no record. If an entry is right
// but its lane does not cover it, the lane in memory is corrected.
func (c *committer) repairEntry(r *request, key []byte) error {
	value, err := getValue(c.db, key)
	if err != nil || value == nil {
		return err
	}
	belongs, t, err := belonging(c.db, key, value)
	switch {
	case err != nil:
		return err
	case belongs && bytes.HasPrefix(key, []byte(duePrefix)) && !c.lanes.Covers(t.Entry()):
		c.filling.scheduled = append(c.filling.scheduled, t.Entry()) // as if it were new
		r.repair.found(t.Key(), "its lane had a bound after it, so the task would have been late")
		return nil
	case belongs:
		return nil
	}
	space, _, _ := strings.Cut(string(key), "/")
	if t != nil {
		if _, has := indexOf(t, key); has {
			return c.repairRecord(r, t.Key()) // the key is right, the value wrong
		}
		r.repair.found(t.Key(), store.FoundEntry(space, true))
	} else {
		owner, _ := ownerOf(key, value)
		r.repair.found(owner, store.FoundEntry(space, false))
	}
	c.touch(r)
	return c.open().Delete(key, nil)
}

// countStep is how many records the committer counts at a time: about as much
// work as a batch. lastCount lets the count end while other requests create
// tasks.
const (
	countStep = 256
	lastCount = 4 * countStep
)

// recount counts the records again while a scrub walks over them. A change up
// to at changes the recount. Records after at will be counted when the walk
// reaches them. So the result is exact, for any number of changes during
// the scrub.
type recount struct {
	at     task.Key // records up to here are counted
	all    bool     // all records are counted
	counts map[task.QueueKey]*task.Counts
}

// move counts the change from old to t. Either can be nil; key is the key of
// both.
func (y *recount) move(key task.Key, old, t *task.Task) {
	if y == nil || !y.all && (key.Namespace > y.at.Namespace || key.Namespace == y.at.Namespace && key.Name > y.at.Name) {
		return
	}
	y.add(old, t)
}

// add subtracts old and adds t.
func (y *recount) add(old, t *task.Task) {
	if old != nil {
		y.queue(old.Namespace, old.Queue).Move(old, nil)
	}
	if t != nil {
		y.queue(t.Namespace, t.Queue).Move(nil, t)
	}
	if key, change := task.Unfinished(old, t); change != 0 {
		y.queue(key.Namespace, key.Queue).States[task.Scheduled] += change
	}
}

func (y *recount) queue(namespace, queue string) *task.Counts {
	key := task.QueueKey{Namespace: namespace, Queue: queue}
	n := y.counts[key]
	if n == nil {
		n = new(task.Counts)
		y.counts[key] = n
	}
	return n
}

// wanted reports whether work is left for the committer.
func (m *repair) wanted() bool {
	return m.count || len(m.records) > 0 || len(m.entries) > 0 || len(m.back) > 0
}

// count counts some of the records that the scrub has examined. If a scrub does
// not continue where the last step ended, nothing is counted.
func (c *committer) count(r *request) error {
	m := r.repair
	if !m.count {
		return nil
	}
	if err := c.commit(); err != nil { // the repairs
		return err
	}
	switch {
	case m.first:
		c.recount, m.first = &recount{counts: make(map[task.QueueKey]*task.Counts)}, false
	case c.recount == nil || m.from != string(appendName(nil, c.recount.at)):
		c.recount, m.count = nil, false
		return nil
	}
	done, err := c.countSome(m)
	if err != nil || !done {
		return err
	}
	m.count = false
	if m.last {
		err = c.compare(r)
		c.recount = nil
	}
	return err
}

// countSome counts the next records, and reports whether these were the last
// ones.
func (c *committer) countSome(m *repair) (done bool, err error) {
	space := []byte(taskPrefix)
	options := pebble.IterOptions{LowerBound: append(append(space, m.from...), 0), UpperBound: prefixEnd([]byte(taskPrefix))}
	limit := lastCount
	if !m.last {
		options.UpperBound = append(append([]byte(taskPrefix), m.to...), 0)
		limit = countStep
	}
	it, err := c.db.NewIter(&options)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if limit--; limit < 0 {
			return false, it.Error()
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return false, err
		}
		t, err := storedTask(it.Key(), value)
		if err != nil {
			return false, err
		}
		c.recount.add(nil, t)
		c.recount.at, m.from = t.Key(), string(it.Key()[len(taskPrefix):])
	}
	if c.recount.all = m.last; !m.last {
		c.recount.at, err = parseName([]byte(m.to))
	}
	return true, errors.Join(err, it.Error())
}

// wrongCounts describes a queue whose counts were wrong. Counts and records are
// in the same batches, so a record that is only counted was lost after that.
func wrongCounts(key task.QueueKey, lost int64) string {
	switch {
	case key.OfOccurrences():
		return fmt.Sprintf("the number of unfinished tasks of schedule %q was wrong", key.Queue[1:])
	case lost > 0:
		return fmt.Sprintf("%d confirmed tasks of queue %q are lost: the queue has fewer records than were counted; restore a backup", lost, key.Queue)
	}
	return fmt.Sprintf("the counts of queue %q were wrong", key.Queue)
}

// compare corrects the counts that differ from the recount, in memory or on
// disk.
func (c *committer) compare(r *request) error {
	disk, err := loadCounters(c.db)
	if err != nil {
		return err
	}
	said, stored := c.counters.all(), disk.all()
	for _, known := range []map[task.QueueKey]task.Counts{said, stored} {
		for key := range known {
			c.recount.queue(key.Namespace, key.Queue)
		}
	}
	for key, n := range c.recount.counts {
		if said[key] == *n && stored[key] == *n {
			continue
		}
		counted, onDisk := said[key], stored[key]
		c.touch(r)
		c.open()
		c.counters.set(key, *n)
		r.repair.found(task.Key{Namespace: key.Namespace}, wrongCounts(key, min(counted.Total(), onDisk.Total())-n.Total()))
	}
	return nil
}
