package redisconn

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

// Write is one command on a key of the item's shard.
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
