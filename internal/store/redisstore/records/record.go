package records

import (
	"cmp"
	"crypto/rand"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

//go:embed scripts/*.lua
var sources embed.FS

// get reads records, and idem takes, keeps and drops Idempotency-Keys.
var (
	get  = redisconn.NewScript(sources, redisconn.Reads, "get")
	Idem = redisconn.NewScript(sources, redisconn.Adds, "idem")
)

// stampLen is the number of bytes before a record, random for each value, so that no
// two values of a record are equal.
const stampLen = 8

// inlineBody is the largest body that is stored in a record. A larger body has its own
// hash entry, which a claim does not rewrite. But the entry needs 80 bytes of memory,
// and two commands, which are as large in the append-only file as two copies of this
// body.
const inlineBody = 128

// valueSpace is the space in which a value is encoded without an allocation, if it
// fits, as most do.
const valueSpace = 512

// Record is a record as it was read or written.
type Record struct {
	Task   *task.Task // without its body; nil means that there is no record
	Stamp  string     // empty means that there is no record
	Inline []byte     // the body, if the record has it; nil if it has its own hash entry
}

// Current implements kernel.Recorded.
func (r Record) Current() *task.Task { return r.Task }

// Apart reports whether the body of r is stored in its own hash entry.
func (r *Record) Apart() bool {
	return r.Task != nil && r.Task.Request.BodySize > 0 && r.Inline == nil
}

// Parse returns the record in value; "" stands for no record.
func Parse(key task.Key, value string) (Record, error) {
	if value == "" {
		return Record{}, nil
	}
	if len(value) < stampLen {
		return Record{}, codec.ErrDamaged
	}
	t, err := codec.ParseRecord(key, value[stampLen:])
	r := Record{Task: t, Stamp: value[:stampLen]}
	if t != nil {
		r.Inline, t.Request.Body = t.Request.Body, nil
	}
	return r, err
}

// NewStamp returns a stamp that no other value has.
func NewStamp() string {
	var b [stampLen]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}

// Replacement returns the item that replaces old with t, and t's body if t carries
// one, and the record after the item is applied. If t is nil, the record is removed.
func Replacement(s *keyspace.Shard, old Record, t *task.Task) (redisconn.Item, Record) {
	it := redisconn.Item{Shard: s, Field: keyspace.Field(cmp.Or(t, old.Task).Key()), Expected: old.Stamp}
	var after Record
	if t != nil {
		after = Record{Task: t, Stamp: NewStamp(), Inline: inlineOf(old, t)}
		var space [valueSpace]byte
		it.Value = string(codec.AppendBody(codec.AppendRecord(append(space[:0], after.Stamp...), t), after.Inline))
	}
	moveName(&it, old.Task, t)
	moveBody(&it, old, t, after)
	moveIndex(&it, old.Task, t)
	MoveCounts(&it, old.Task, t)
	return it, after
}

// inlineOf returns the body that the record of t has, if it replaces old. If t
// has a body and does not carry it, the body stays where it is.
func inlineOf(old Record, t *task.Task) []byte {
	body := t.Request.Body
	switch {
	case t.Request.BodySize == 0:
		return nil
	case body == nil:
		return old.Inline
	case len(body) <= inlineBody:
		return body
	}
	return nil
}

func moveName(it *redisconn.Item, old, t *task.Task) {
	switch {
	case old == nil:
		it.Write("ZADD", it.Shard.Names, "0", it.Field)
	case t == nil:
		it.Write("ZREM", it.Shard.Names, it.Field)
	}
}

// moveBody stores the body that t carries, unless the record has it, and removes
// the entry of a body that is gone or has moved into the record.
func moveBody(it *redisconn.Item, old Record, t *task.Task, after Record) {
	switch {
	case after.Apart() && t.Request.Body != nil:
		it.Write("HSET", it.Shard.Body, it.Field, string(t.Request.Body))
	case old.Apart() && !after.Apart():
		it.Write("HDEL", it.Shard.Body, it.Field)
	}
}

// Entry is an index entry of a task.
type Entry struct {
	Key, Member string
	Score       task.Millis
	Lane        string // "": the task is not scheduled
}

// EntriesIn returns the index entries of t in shard s.
func EntriesIn(s *keyspace.Shard, t *task.Task) []Entry {
	of := kernel.EntriesOf(t)
	entries := make([]Entry, len(of))
	for i, e := range of {
		switch e.Index {
		case kernel.ByDue:
			lane := keyspace.LaneMember(t.Lane())
			entries[i] = Entry{s.Due(lane), t.Name, e.At, lane}
		case kernel.ByLease:
			entries[i] = Entry{s.Running, keyspace.Field(t.Key()), e.At, ""}
		case kernel.DeadByEnd, kernel.DoneByEnd:
			entries[i] = Entry{EndKey(s, e.Index), keyspace.EndMember(t.Namespace, e.At, t.Name), 0, ""}
		case kernel.ByRetention:
			entries[i] = Entry{s.Keep, keyspace.Field(t.Key()), e.At, ""}
		}
	}
	return entries
}

// EndKey returns the key of an index by end in shard s.
func EndKey(s *keyspace.Shard, in kernel.Index) string {
	if in == kernel.DeadByEnd {
		return s.Dead
	}
	return s.Gone
}

func moveIndex(it *redisconn.Item, old, t *task.Task) {
	from, to := EntriesIn(it.Shard, old), EntriesIn(it.Shard, t)
	for _, e := range from {
		if !slices.ContainsFunc(to, func(n Entry) bool { return n.Key == e.Key && n.Member == e.Member }) {
			it.Write("ZREM", e.Key, e.Member)
		}
	}
	for _, e := range to {
		if slices.Contains(from, e) {
			continue
		}
		it.Write("ZADD", e.Key, redisconn.Score(e.Score), e.Member)
		if e.Lane != "" {
			it.Write("LOWER", it.Shard.Lanes, redisconn.Score(e.Score), e.Lane)
		}
	}
}

// MoveCounts adds the change to the counts of the shard.
func MoveCounts(it *redisconn.Item, old, t *task.Task) {
	kernel.EachDelta(old, t, func(q task.QueueKey, diff task.Counts) {
		for state, n := range diff.States {
			if n != 0 {
				it.Write("COUNT", it.Shard.Counts, CountField(q, strconv.Itoa(state)), strconv.FormatInt(n, 10))
			}
		}
		if diff.Bytes != 0 {
			it.Write("COUNT", it.Shard.Counts, CountField(q, "bytes"), strconv.FormatInt(diff.Bytes, 10))
		}
	})
}

// UnfinishedField returns the field that counts the unfinished occurrences of a
// schedule.
func UnfinishedField(counter task.QueueKey) string {
	return CountField(counter, strconv.Itoa(int(task.Scheduled)))
}

// CountField returns the field of a shard's counts for one number of a queue.
func CountField(q task.QueueKey, number string) string {
	return q.Namespace + "/" + q.Queue + "/" + number
}

// AddCount adds the value of a field of a shard's counts to counts.
func AddCount(counts map[task.QueueKey]task.Counts, field string, n int64) error {
	parts := strings.Split(field, "/")
	if len(parts) != 3 {
		return fmt.Errorf("count %q: %w", field, codec.ErrDamaged)
	}
	key := task.QueueKey{Namespace: parts[0], Queue: parts[1]}
	c := counts[key]
	if parts[2] == "bytes" {
		c.Bytes += n
	} else {
		state, err := strconv.Atoi(parts[2])
		if err != nil || state < 0 || state >= len(c.States) {
			return fmt.Errorf("count %q: %w", field, codec.ErrDamaged)
		}
		c.States[state] += n
	}
	counts[key] = c
	return nil
}

// RepairOf returns a repair that depends on a record's stamp; "" stands for no
// record.
func RepairOf(sh *keyspace.Shard, field, stamp string) *redisconn.Repair {
	return redisconn.NewRepair(sh.Records, field, stampLen, stamp)
}
