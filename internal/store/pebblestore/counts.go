package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// counts is the readers' copy of the book, after the batches that were applied.
type counts struct {
	mu sync.Mutex // guards everything below
	m  map[task.QueueKey]task.Counts
}

// publish replaces the counts that have changed.
func (c *counts) publish(changed map[task.QueueKey]task.Counts) {
	if len(changed) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = make(map[task.QueueKey]task.Counts)
	}
	for key, n := range changed {
		if key.OfOccurrences() {
			continue
		}
		if n == (task.Counts{}) {
			delete(c.m, key)
		} else {
			c.m[key] = n
		}
	}
}

// Counts implements task.Registry.
func (s *Store) Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
	all := make(map[task.QueueKey]task.Counts)
	err := s.read(ctx, "read the counts", func() error {
		s.counts.mu.Lock()
		defer s.counts.mu.Unlock()
		maps.Copy(all, s.counts.m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// book holds the committer's counts: how many records each queue has, including
// the batch being filled. Each batch contains the counts of the queues that it
// changes, one value per queue. So the counts match the records after any
// crash.
type book struct {
	queues map[task.QueueKey]*line
	spaces map[string]*task.Counts // by namespace; not on disk

	stale bool // an older version wrote some of the counts: see countMark

	last    *line   // the latest look-up: most batches are about one queue
	touched []*line // changed by the batch being filled
}

type line struct {
	key     task.QueueKey
	space   *task.Counts
	counts  task.Counts
	touched bool
}

func newBook() *book {
	return &book{queues: make(map[task.QueueKey]*line), spaces: make(map[string]*task.Counts)}
}

// line returns the line of a queue. It creates a missing line.
func (b *book) line(namespace, queue string) *line {
	if l := b.last; l != nil && l.key.Queue == queue && l.key.Namespace == namespace {
		return l
	}
	key := task.QueueKey{Namespace: namespace, Queue: queue}
	l := b.queues[key]
	if l == nil {
		l = &line{key: key, space: b.space(key)}
		b.queues[key] = l
	}
	b.last = l
	return l
}

// space returns the counts of a queue's namespace. Counts of occurrences by
// schedule are already included in those of their queue.
func (b *book) space(key task.QueueKey) *task.Counts {
	if key.OfOccurrences() {
		return new(task.Counts)
	}
	if b.spaces[key.Namespace] == nil {
		b.spaces[key.Namespace] = new(task.Counts)
	}
	return b.spaces[key.Namespace]
}

// unfinished returns how many occurrences of a schedule are unfinished.
func (b *book) unfinished(schedule task.Key) int64 {
	if l := b.queues[schedule.UnfinishedLine()]; l != nil {
		return l.counts.States[task.Scheduled]
	}
	return 0
}

// move counts the change from old to t. Either may be nil.
func (b *book) move(old, t *task.Task) {
	if key, change := task.Unfinished(old, t); change != 0 {
		l := b.line(key.Namespace, key.Queue)
		l.counts.States[task.Scheduled] += change
		b.touch(l)
	}
	if old != nil {
		b.add(b.line(old.Namespace, old.Queue), old, nil)
	}
	if t != nil {
		b.add(b.line(t.Namespace, t.Queue), nil, t)
	}
}

func (b *book) add(l *line, old, t *task.Task) {
	l.counts.Move(old, t)
	l.space.Move(old, t)
	b.touch(l)
}

func (b *book) touch(l *line) {
	if !l.touched {
		l.touched = true
		b.touched = append(b.touched, l)
	}
}

// set replaces the counts of a queue.
func (b *book) set(key task.QueueKey, n task.Counts) {
	l := b.line(key.Namespace, key.Queue)
	for state := range n.States {
		l.space.States[state] += n.States[state] - l.counts.States[state]
	}
	l.space.Bytes += n.Bytes - l.counts.Bytes
	l.counts = n
	b.touch(l)
}

// namespace returns the counts of a namespace.
func (b *book) namespace(name string) task.Counts {
	if n := b.spaces[name]; n != nil {
		return *n
	}
	return task.Counts{}
}

// count adds the counts of d's namespace to d. It costs O(queues).
func (b *book) count(d *task.DropNamespace) {
	for key, l := range b.queues {
		if key.Namespace == d.Name && !key.OfOccurrences() {
			d.Count(key.Queue, l.counts)
		}
	}
}

// write writes the changed counts into the batch.
func (b *book) write(batch *pebble.Batch) error {
	for _, l := range b.touched {
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
func (b *book) settle() map[task.QueueKey]task.Counts {
	if len(b.touched) == 0 {
		return nil
	}
	changed := make(map[task.QueueKey]task.Counts, len(b.touched))
	for _, l := range b.touched {
		l.touched = false
		changed[l.key] = l.counts
		if l.counts == (task.Counts{}) {
			delete(b.queues, l.key)
			b.last = nil
		}
	}
	b.touched = b.touched[:0]
	return changed
}

// all returns the counts of all queues.
func (b *book) all() map[task.QueueKey]task.Counts {
	all := make(map[task.QueueKey]task.Counts, len(b.queues))
	for key, l := range b.queues {
		all[key] = l.counts
	}
	return all
}

// loadBook reads the counts after the newest batch.
func loadBook(db *pebble.DB) (b *book, err error) {
	space := []byte(countPrefix)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: prefixEnd(space)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	b = newBook()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		key, err := parseName(it.Key()[len(space):])
		if err != nil {
			return nil, err
		}
		n, marked, err := parseCounts(value)
		b.stale = b.stale || !marked
		if err != nil {
			return nil, fmt.Errorf("the counts of queue %q in namespace %q: %w", key.Name, key.Namespace, err)
		}
		b.set(task.QueueKey{Namespace: key.Namespace, Queue: key.Name}, n)
	}
	b.settle()
	return b, it.Error()
}

func appendCountKey(dst []byte, q task.QueueKey) []byte {
	return appendTaskKey(dst, countPrefix, task.Key{Namespace: q.Namespace, Name: q.Queue})
}

// countMark follows counts of the bytes of whole records. Older versions
// counted only bodies, and wrote counts without the mark, even over counts of
// this version. In that case everything that is derived from the records is
// rebuilt.
const countMark = 1

// appendCounts appends n in its format on disk: a format byte; varints with the
// bytes and the number of each state from Scheduled on; and countMark. Fields
// of later versions come after that.
func appendCounts(dst []byte, n task.Counts) []byte {
	dst = append(dst, codec.Format)
	dst = binary.AppendVarint(dst, n.Bytes)
	for _, k := range n.States[task.Scheduled:] {
		dst = binary.AppendVarint(dst, k)
	}
	return append(dst, countMark)
}

func parseCounts(src []byte) (n task.Counts, marked bool, err error) {
	src, err = codec.Unwrap(src)
	if err != nil {
		return n, false, err
	}
	fields := []*int64{&n.Bytes}
	for s := task.Scheduled; s <= task.Dead; s++ {
		fields = append(fields, &n.States[s])
	}
	r := bytes.NewReader(src)
	for _, field := range fields {
		if *field, err = binary.ReadVarint(r); err != nil {
			return task.Counts{}, false, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	mark, err := r.ReadByte()
	return n, err == nil && mark == countMark, nil
}
