package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// counts is the readers' copy of the counters, after the batches that were
// applied.
type counts struct {
	mu sync.Mutex // guards everything below
	m  kernel.Tally
}

// publish replaces the counts that have changed.
func (c *counts) publish(changed kernel.Tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = kernel.Tally{}
	}
	for key, n := range changed {
		if delete(c.m, key); !key.OfOccurrences() {
			c.m.Add(key, n)
		}
	}
}

// waiting returns the number of tasks that r selects.
func (c *counts) waiting(r *store.DueRead) (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, count := range c.m {
		if r.Selects(task.Lane{Namespace: key.Namespace, Queue: key.Queue}) {
			n += count.States[task.Scheduled]
		}
	}
	return n
}

// Counts implements store.SettingsStore.
func (s *Store) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	var all kernel.Tally
	err := s.read(ctx, "read the counts", func() error {
		s.counts.mu.Lock()
		defer s.counts.mu.Unlock()
		all = maps.Clone(s.counts.m)
		return nil
	})
	return all, err
}

// counters holds the committer's counts of the records of each queue, including the
// batch being filled, and each batch contains the counts of the queues that it changes.
type counters struct {
	queues     map[task.QueueKey]*queueCounter
	namespaces map[string]*task.Counts // by namespace; not on disk

	last    *queueCounter   // the latest look-up: most batches are about one queue
	touched []*queueCounter // changed by the batch being filled
}

type queueCounter struct {
	key       task.QueueKey
	namespace *task.Counts
	counts    task.Counts
	touched   bool
}

func newCounters(all kernel.Tally) *counters {
	b := &counters{queues: make(map[task.QueueKey]*queueCounter), namespaces: make(map[string]*task.Counts)}
	for key, n := range all {
		b.add(key, n)
	}
	b.settle()
	return b
}

// counterOf returns the counter of a queue, and creates a missing one.
func (c *counters) counterOf(key task.QueueKey) *queueCounter {
	if l := c.last; l != nil && l.key == key {
		return l
	}
	l := c.queues[key]
	if l == nil {
		l = &queueCounter{key: key, namespace: c.namespaceOf(key)}
		c.queues[key] = l
	}
	c.last = l
	return l
}

// namespaceOf returns the counts of a queue's namespace, or a scratch value for the
// occurrences of a schedule, which are already included in those of their queue.
func (c *counters) namespaceOf(key task.QueueKey) *task.Counts {
	if key.OfOccurrences() {
		return new(task.Counts)
	}
	if c.namespaces[key.Namespace] == nil {
		c.namespaces[key.Namespace] = new(task.Counts)
	}
	return c.namespaces[key.Namespace]
}

// unfinished returns how many occurrences of a schedule are unfinished.
func (c *counters) unfinished(schedule task.Key) int64 {
	if l := c.queues[schedule.UnfinishedCounter()]; l != nil {
		return l.counts.States[task.Scheduled]
	}
	return 0
}

// move counts the change from old to t, either of them nil for no record.
func (c *counters) move(old, t *task.Task) { kernel.EachDelta(old, t, c.add) }

func (c *counters) add(key task.QueueKey, d task.Counts) {
	l := c.counterOf(key)
	l.counts.Add(d)
	l.namespace.Add(d)
	if !l.touched {
		l.touched = true
		c.touched = append(c.touched, l)
	}
}

func (c *counters) set(key task.QueueKey, n task.Counts) {
	for state, before := range c.counterOf(key).counts.States {
		n.States[state] -= before
	}
	n.Bytes -= c.counterOf(key).counts.Bytes
	c.add(key, n)
}

func (c *counters) namespace(name string) task.Counts {
	if n := c.namespaces[name]; n != nil {
		return *n
	}
	return task.Counts{}
}

// count adds the counts of d's namespace to d, in O(queues).
func (c *counters) count(d *settings.DropNamespace) {
	for key, l := range c.queues {
		if key.Namespace == d.Name && !key.OfOccurrences() {
			d.Count(key.Queue, l.counts)
		}
	}
}

// write writes the changed counts into the batch.
func (c *counters) write(batch *pebble.Batch) error {
	for _, l := range c.touched {
		var err error
		if key := appendCountKey(nil, l.key); l.counts == (task.Counts{}) {
			err = batch.Delete(key, nil)
		} else {
			err = batch.Set(key, appendCounts(nil, l.counts), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle ends the batch and returns the counts that it changed.
func (c *counters) settle() kernel.Tally {
	if len(c.touched) == 0 {
		return nil
	}
	changed := make(kernel.Tally, len(c.touched))
	for _, l := range c.touched {
		l.touched = false
		changed[l.key] = l.counts
		if l.counts == (task.Counts{}) {
			delete(c.queues, l.key)
			c.last = nil
		}
	}
	c.touched = c.touched[:0]
	return changed
}

// all returns the counts of all queues.
func (c *counters) all() kernel.Tally {
	all := make(kernel.Tally, len(c.queues))
	for key, l := range c.queues {
		all[key] = l.counts
	}
	return all
}

// loadCounts reads the counts after the newest batch.
func loadCounts(from pebble.Reader) (kernel.Tally, error) {
	all := kernel.Tally{}
	err := eachIn(from, countPrefix, func(key, value []byte) error {
		name, err := parseName(key[len(countPrefix):])
		if err != nil {
			return err
		}
		n, err := parseCounts(value)
		if err != nil {
			return fmt.Errorf("the counts of queue %q in namespace %q: %w", name.Name, name.Namespace, err)
		}
		all[task.QueueKey{Namespace: name.Namespace, Queue: name.Name}] = n
		return nil
	})
	return all, err
}

func appendCountKey(dst []byte, q task.QueueKey) []byte {
	return appendTaskKey(dst, countPrefix, task.Key{Namespace: q.Namespace, Name: q.Queue})
}

// appendCounts appends n in its format on disk: a format byte, and then varints
// with the bytes and the number of each state from Scheduled on.
func appendCounts(dst []byte, n task.Counts) []byte {
	dst = append(dst, codec.Format)
	dst = binary.AppendVarint(dst, n.Bytes)
	for _, k := range n.States[task.Scheduled:] {
		dst = binary.AppendVarint(dst, k)
	}
	return dst
}

func parseCounts(src []byte) (n task.Counts, err error) {
	src, err = codec.Unwrap(src)
	if err != nil {
		return n, err
	}
	fields := []*int64{&n.Bytes}
	for s := task.Scheduled; s <= task.Dead; s++ {
		fields = append(fields, &n.States[s])
	}
	r := bytes.NewReader(src)
	for _, field := range fields {
		if *field, err = binary.ReadVarint(r); err != nil {
			return task.Counts{}, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	return n, nil
}
