package redisconn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// maxItems is the largest number of items in one run of put, which then blocks the
// server for about a millisecond.
const maxItems = 64

// call holds the keys and arguments of one run of put.
type call struct {
	keys    []string
	numbers map[string]int // the number of each key
	args    []string
}

// Clock is a node's estimate of a server's clock, and the largest error of the
// estimate. The zero Clock means that no clock is compared: the caller sets the
// time.
type Clock struct {
	Now           task.Millis
	Behind, Ahead task.Millis
}

// newCall returns a call without items. scripts/put.lua describes the arguments.
func newCall(c Clock, identity, holder, fence, counter string) *call {
	call, now := &call{numbers: map[string]int{}}, ""
	if c.Now != 0 {
		now = Score(c.Now)
	}
	call.args = append(call.args, now, Score(c.Behind), Score(c.Ahead), identity, call.key(holder), fence, counter)
	return call
}

func (c *call) key(name string) string {
	n, ok := c.numbers[name]
	if !ok {
		c.keys = append(c.keys, name)
		n = len(c.keys)
		c.numbers[name] = n
	}
	return strconv.Itoa(n)
}

func (c *call) add(it *Item) {
	size, owned := 0, "0"
	if it.With {
		owned = "-1"
	} else if it.Owner != "" {
		owned = c.key(it.Shard.Own)
	}
	for _, w := range it.Writes {
		size += 3 + len(w.Args)
	}
	c.args = append(c.args, owned, it.Owner, c.key(it.Shard.Records), it.Field, it.Expected, it.Value, Score(it.Earliest), strconv.Itoa(size))
	for _, w := range it.Writes {
		c.args = append(c.args, w.Name, c.key(w.Key), strconv.Itoa(len(w.Args)))
		c.args = append(c.args, w.Args...)
	}
}

// Status is the way in which an item ended.
type Status int64

const (
	Applied        Status = iota // this call applied it
	AlreadyApplied               // it was applied before: this call repeats one whose reply was lost
	NotYetDue                    // its time has not come
	NotOwner                     // another node owns the shard
	Skipped                      // the item before it was not applied
	Changed                      // the record has changed
	ClockSkew                    // the clocks differ too much: neither this call nor an earlier one applied it
	StaleSettings                // the caller's settings lack an edit: neither this call nor an earlier one applied it
	Full                         // the server has no memory left: the call did nothing
)

// Outcome is the result of an item.
type Outcome struct {
	Status      Status
	Value       string // Changed: the record; StaleSettings: the token of the newest fence
	Unconfirmed bool   // see result
	Resent      bool   // it was sent more than once, so it may have been applied before
}

// Item replaces one record and writes its index entries and counts. put applies
// an item completely or not at all.
type Item struct {
	Shard    *keyspace.Shard
	Owner    string // the id that must own the shard; empty means that any node can own it
	More     bool   // it creates a task: a full server refuses it
	With     bool   // only if this call applied the item before it
	Field    string
	Expected string // the stamp
	Value    string // empty means that the record is removed
	Earliest task.Millis
	Writes   []KeyWrite
}

// KeyWrite is one write on a key of the item's shard; scripts/put.lua lists the
// names.
type KeyWrite struct {
	Name, Key string
	Args      []string
}

// Write adds a write on a key of the item's shard.
func (it *Item) Write(name, key string, args ...string) {
	it.Writes = append(it.Writes, KeyWrite{name, key, args})
}

// Score returns a time in the form that Redis keeps in a sorted set.
func Score(at task.Millis) string { return strconv.FormatInt(int64(at), 10) }

// Terms are the conditions of one Put.
type Terms struct {
	Clock  Clock
	Fences map[uint16]string // the fences that the caller's settings have passed
	Sender string            // the namespace whose client asked for it, "" for the node; senders take turns
	Loose  bool              // no replica needs to confirm the items
}

// Put applies items. It returns the outcome of each, and the server's clock. After an
// error some or all items may have been applied, and the caller can repeat Put.
func (s *Servers) Put(ctx context.Context, on Terms, items []Item) ([]Outcome, task.Millis, error) {
	writes, places := s.divide(on.Clock, items)
	for _, r := range writes {
		r.loose, r.fence, r.sender = on.Loose, on.Fences[r.slot], on.Sender
	}
	sent := s.Clocks.Monotonic()
	results, err := s.send(ctx, writes)
	if err != nil {
		return nil, 0, err
	}
	received, masters := s.Clocks.Monotonic(), s.Masters.Load()
	outcomes, now := make([]Outcome, len(items)), task.Millis(0)
	for i, l := range results {
		if l.err != nil { // there was no memory
			for _, at := range places[i] {
				outcomes[at].Status = Full
			}
			continue
		}
		micros, err := l.values[0].AsInt64()
		if err != nil {
			return nil, 0, fmt.Errorf("read the reply of the script put: %w", err)
		}
		s.Clocks.Observe(masters.Of(writes[i].slot), micros, sent, received)
		now = max(now, task.Millis(micros/1000))
		for n, at := range places[i] {
			o, err := readOutcome(l.values[1+n])
			if err != nil {
				return nil, 0, fmt.Errorf("read the reply of the script put: %w", err)
			}
			o.Resent, o.Unconfirmed = writes[i].tries > 1, l.unconfirmed
			outcomes[at] = o
		}
	}
	return outcomes, now, nil
}

func readOutcome(m rueidis.RedisMessage) (Outcome, error) {
	if m.IsInt64() {
		n, err := m.AsInt64()
		return Outcome{Status: Status(n)}, err
	}
	status := Changed
	if list, err := m.ToArray(); err == nil && len(list) == 1 {
		m, status = list[0], StaleSettings
	}
	value, err := m.ToString()
	return Outcome{Status: status, Value: value}, err
}

// divide groups items into writes, and returns the indexes of the items of each.
// Items that create tasks go into writes of their own, because a full server refuses a
// whole run. Items of one shard share runs, because one command writes for all of them.
func (s *Servers) divide(c Clock, items []Item) (writes []*write, places [][]int) {
	type kind struct {
		slot uint16
		more bool
	}
	open := map[kind]int{} // the write that is being filled
	var last kind
	for _, i := range byShard(items) {
		it := &items[i]
		k := kind{s.Slot(it.Shard), it.More}
		if it.With {
			k = last
		}
		last = k
		at, ok := open[k]
		if !ok || len(places[at]) >= maxItems && !it.With {
			w := s.newWrite(putOn, it.Shard)
			if w.clock = c; k.more {
				w.script = putMore
			}
			at = len(writes)
			writes, places, open[k] = append(writes, w), append(places, nil), at
		}
		writes[at].items = append(writes[at].items, it)
		places[at] = append(places[at], i)
	}
	return writes, places
}

// byShard returns the indexes of items in the order of their shards, if they
// need several runs. An item that depends on the item before it stays behind
// that one.
func byShard(items []Item) []int {
	order, shard := make([]int, len(items)), make([]int, len(items))
	for i, it := range items {
		order[i], shard[i] = i, it.Shard.Number
		if it.With {
			shard[i] = shard[i-1]
		}
	}
	if len(items) > maxItems {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shard[a], shard[b]) })
	}
	return order
}
