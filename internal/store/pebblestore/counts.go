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
	queues     kernel.Tally
	namespaces kernel.Tally           // the sums by namespace; not on disk
	touched    map[task.QueueKey]bool // changed by the batch being filled
}

func newCounters(all kernel.Tally) *counters {
	c := &counters{queues: kernel.Tally{}, namespaces: kernel.Tally{}, touched: map[task.QueueKey]bool{}}
	for key, n := range all {
		c.add(key, n)
	}
	c.settle()
	return c
}

func (c *counters) unfinished(schedule task.Key) int64 {
	return c.queues[schedule.UnfinishedCounter()].States[task.Scheduled]
}

// move counts the change from old to t, either of them nil for no record.
func (c *counters) move(old, t *task.Task) { kernel.EachDelta(old, t, c.add) }

func (c *counters) add(key task.QueueKey, d task.Counts) {
	c.touched[key] = true
	if c.queues.Add(key, d); !key.OfOccurrences() { // occurrences are already counted in their queue
		c.namespaces.Add(task.QueueKey{Namespace: key.Namespace}, d)
	}
}

// set corrects the counts of a queue, which are written again even if they were
// wrong on the disk only.
func (c *counters) set(key task.QueueKey, n task.Counts) {
	before := c.queues[key]
	for state := range n.States {
		n.States[state] -= before.States[state]
	}
	n.Bytes -= before.Bytes
	c.add(key, n)
}

func (c *counters) namespace(name string) task.Counts {
	return c.namespaces[task.QueueKey{Namespace: name}]
}

// count adds the counts of d's namespace to d, in O(queues).
func (c *counters) count(d *settings.DropNamespace) {
	for key, n := range c.queues {
		if key.Namespace == d.Name && !key.OfOccurrences() {
			d.Count(key.Queue, n)
		}
	}
}

func (c *counters) write(batch *pebble.Batch) error {
	for q := range c.touched {
		var err error
		if n, ok := c.queues[q]; ok {
			err = batch.Set(appendCountKey(nil, q), appendCounts(nil, n), nil)
		} else {
			err = batch.Delete(appendCountKey(nil, q), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle ends the batch and returns the counts that it changed.
func (c *counters) settle() kernel.Tally {
	changed := make(kernel.Tally, len(c.touched))
	for key := range c.touched {
		changed[key] = c.queues[key]
	}
	clear(c.touched)
	return changed
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
