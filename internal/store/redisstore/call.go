package redisstore

import (
	"strconv"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// call is the keys and arguments of one run of put.
type call struct {
	keys    []string
	numbers map[string]int // of the keys
	args    []string
}

// clock is what a node believes that a server's clock says, and how far it may
// be wrong. The zero clock asks no clock: time is the caller's.
type clock struct {
	now           task.Millis
	behind, ahead task.Millis
}

// newCall returns a call at c, for the store of that identity, which the key bears,
// from a node whose settings know of the purge that fence names.
func newCall(c clock, identity, bearer, fence string) *call {
	call := &call{numbers: map[string]int{}}
	now := ""
	if c.now != 0 {
		now = score(c.now)
	}
	call.args = append(call.args, now, score(c.behind), score(c.ahead), identity, call.key(bearer), fence)
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

func (c *call) add(it *item) {
	switch {
	case it.with:
		c.args = append(c.args, "-1", "")
	case it.owner != "":
		c.args = append(c.args, c.key(it.shard.Own), it.owner)
	default:
		c.args = append(c.args, "0", "")
	}
	c.args = append(c.args, c.key(it.shard.Meta), it.field, it.expected, it.value, score(it.earliest), strconv.Itoa(len(it.writes)))
	for _, w := range it.writes {
		c.args = append(c.args, w.name, c.key(w.key), strconv.Itoa(len(w.args)))
		c.args = append(c.args, w.args...)
	}
}

// fate is what became of an item.
type fate int64

const (
	carried   fate = iota // just now
	repeated              // before: this is the repetition of a call whose reply was lost
	early                 // it is not time yet
	disowned              // somebody else owns the shard
	skipped               // the item before was not carried out
	different             // the record is another one
	misdated              // the clock differs by too much: the item was not carried out, neither now nor before
	outdated              // the caller's settings lack a purge: likewise
	full                  // the server has no memory left: nothing of the call was done
)

// outcome is what became of an item, and of its record where that is another one.
type outcome struct {
	fate        fate
	value       string
	unconfirmed bool // see landing
	again       bool // it was sent more than once: it may have been carried out before
}

// item is the replacement of one record and all that follows from it: what put
// carries out as a whole or not at all.
type item struct {
	shard    *keyspace.Shard
	owner    string // the id that must own the shard; "": anybody may
	more     bool   // it makes a new task: a full server refuses it
	with     bool   // only if the item before was carried out just now
	field    string
	expected string // the stamp
	value    string // "": removed
	earliest task.Millis
	writes   []write
}

// write is one command on a key of the item's shard.
type write struct {
	name, key string
	args      []string
}

func (it *item) write(name, key string, args ...string) {
	it.writes = append(it.writes, write{name, key, args})
}

// score returns a time as Redis keeps it in a sorted set.
func score(at task.Millis) string { return strconv.FormatInt(int64(at), 10) }
