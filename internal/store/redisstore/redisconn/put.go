package redisconn

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// maxItems is how many items one run of put carries out. The server does nothing
// else meanwhile, for about a millisecond.
const maxItems = 64

// call is the keys and arguments of one run of put.
type call struct {
	keys    []string
	numbers map[string]int // of the keys
	args    []string
}

// Clock is what a node believes that a server's clock says, and how far it may
// be wrong. The zero clock asks no clock: time is the caller's.
type Clock struct {
	Now           task.Millis
	Behind, Ahead task.Millis
}

// newCall returns a call at c, for the store of that identity, which the key bears,
// from a node whose settings know of the purge that fence names.
func newCall(c Clock, identity, bearer, fence string) *call {
	call := &call{numbers: map[string]int{}}
	now := ""
	if c.Now != 0 {
		now = Score(c.Now)
	}
	call.args = append(call.args, now, Score(c.Behind), Score(c.Ahead), identity, call.key(bearer), fence)
	return call
}

// key returns the number of a key.
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
	switch {
	case it.With:
		c.args = append(c.args, "-1", "")
	case it.Owner != "":
		c.args = append(c.args, c.key(it.Shard.Own), it.Owner)
	default:
		c.args = append(c.args, "0", "")
	}
	c.args = append(c.args, c.key(it.Shard.Meta), it.Field, it.Expected, it.Value, Score(it.Earliest), strconv.Itoa(len(it.Writes)))
	for _, w := range it.Writes {
		c.args = append(c.args, w.Name, c.key(w.Key), strconv.Itoa(len(w.Args)))
		c.args = append(c.args, w.Args...)
	}
}

// Fate is what became of an item.
type Fate int64

const (
	Carried   Fate = iota // just now
	Repeated              // before: this is the repetition of a call whose reply was lost
	Early                 // it is not time yet
	Disowned              // somebody else owns the shard
	Skipped               // the item before was not carried out
	Different             // the record is another one
	Misdated              // the clock differs by too much: the item was not carried out, neither now nor before
	Outdated              // the caller's settings lack a purge: likewise
	Full                  // the server has no memory left: nothing of the call was done
)

// Outcome is what became of an item, and of its record where that is another one.
type Outcome struct {
	Fate        Fate
	Value       string
	Unconfirmed bool // see result
	Again       bool // it was sent more than once: it may have been carried out before
}

// Item is the replacement of one record and all that follows from it: what put
// carries out as a whole or not at all.
type Item struct {
	Shard    *keyspace.Shard
	Owner    string // the id that must own the shard; "": anybody may
	More     bool   // it makes a new task: a full server refuses it
	With     bool   // only if the item before was carried out just now
	Field    string
	Expected string // the stamp
	Value    string // "": removed
	Earliest task.Millis
	Writes   []KeyWrite
}

// KeyWrite is one command on a key of the item's shard.
type KeyWrite struct {
	Name, Key string
	Args      []string
}

// Write adds a command on a key of the item's shard.
func (it *Item) Write(name, key string, args ...string) {
	it.Writes = append(it.Writes, KeyWrite{name, key, args})
}

// Score returns a time as Redis keeps it in a sorted set.
func Score(at task.Millis) string { return strconv.FormatInt(int64(at), 10) }

// Put carries out items and returns what became of each, and the server's
// clock. known are the fences that the caller's settings have passed. loose: no
// replica needs to confirm it. An error leaves it open what was
// carried out; it is safe to repeat.
func (s *Servers) Put(ctx context.Context, c Clock, items []Item, known map[uint16]string, loose bool) ([]Outcome, task.Millis, error) {
	writes, places := s.divide(c, items)
	for _, r := range writes {
		r.loose, r.fence = loose, known[r.slot]
	}
	sent := s.Clocks.Steady()
	results, err := s.send(ctx, writes)
	if err != nil {
		return nil, 0, err
	}
	s.readClocks(writes, results, sent)
	outcomes, now := make([]Outcome, len(items)), task.Millis(0)
	for i, l := range results {
		if l.err != nil { // there was no memory
			for _, at := range places[i] {
				outcomes[at].Fate = Full
			}
			continue
		}
		at, err := readOutcomes(l.values, outcomes, places[i])
		if err != nil {
			return nil, 0, fmt.Errorf("reply of the script put: %w", err)
		}
		for _, at := range places[i] {
			outcomes[at].Again, outcomes[at].Unconfirmed = writes[i].tries > 1, l.unconfirmed
		}
		now = max(now, at)
	}
	return outcomes, now, nil
}

// divide makes writes of items, and returns the places of each one's items. Those
// that make new tasks are apart: a full server refuses all that a run has.
func (s *Servers) divide(c Clock, items []Item) (writes []*write, places [][]int) {
	type kind struct {
		slot uint16
		more bool
	}
	open := map[kind]int{} // the write that is being filled
	var last kind
	for i := range items {
		it := &items[i]
		k := kind{s.Slot(it.Shard), it.More}
		if it.With {
			k = last
		}
		last = k
		at, ok := open[k]
		if !ok || len(places[at]) >= maxItems && !it.With {
			at = len(writes)
			sc := putOn
			if k.more {
				sc = putMore
			}
			writes, places, open[k] = append(writes, s.newWrite(sc, it.Shard)), append(places, nil), at
			writes[at].clock = c
		}
		writes[at].items = append(writes[at].items, it)
		places[at] = append(places[at], i)
	}
	return writes, places
}

func readOutcomes(reply []rueidis.RedisMessage, outcomes []Outcome, places []int) (task.Millis, error) {
	if len(reply) == 0 {
		return 0, errDamaged
	}
	micros, err := reply[0].AsInt64()
	if err != nil {
		return 0, err
	}
	now := task.Millis(micros / 1000)
	if len(reply) != 1+len(places) {
		return 0, errDamaged
	}
	for i, at := range places {
		m := reply[1+i]
		if m.IsInt64() {
			n, _ := m.AsInt64()
			outcomes[at] = Outcome{Fate: Fate(n)}
			continue
		}
		value, err := m.ToString()
		if err != nil {
			return 0, err
		}
		outcomes[at] = Outcome{Fate: Different, Value: value}
	}
	return now, nil
}

// readClocks takes in the clocks of replies to put.
func (s *Servers) readClocks(writes []*write, results []result, sent time.Duration) {
	received, m := s.Clocks.Steady(), s.Masters.Load()
	for i, l := range results {
		if l.err != nil || len(l.values) == 0 {
			continue
		}
		if micros, err := l.values[0].AsInt64(); err == nil {
			s.Clocks.Observe(m.Of(writes[i].slot), micros, sent, received)
		}
	}
}
