package redisstore

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// get reads records. idem takes, keeps and drops Idempotency-Keys.
var (
	get  = redisconn.NewScript(sources, redisconn.Reads, "get")
	idem = redisconn.NewScript(sources, redisconn.Adds, "idem")
)

// stampLen is how many bytes stand before a record: they are new with each
// value, so that two values of a record are never equal.
const stampLen = 8

// record is a record as it was read.
type record struct {
	task  *task.Task // without its body; nil: there is none
	stamp string     // "": there is none
}

// parseRecord returns the record that value holds, "" for none.
func parseRecord(key task.Key, value string) (record, error) {
	if value == "" {
		return record{}, nil
	}
	if len(value) < stampLen {
		return record{}, errDamaged
	}
	t, err := codec.DecodeRecord(key, []byte(value[stampLen:]))
	return record{task: t, stamp: value[:stampLen]}, err
}

// newStamp returns a stamp that no other value has.
func newStamp() string {
	var b [stampLen]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}

// replacement returns the item that puts t, with its body where it carries one,
// in the place of old. t nil: the record is removed.
func replacement(s *keyspace.Shard, old record, t *task.Task) redisconn.Item {
	key := keyOf(old.task, t)
	it := redisconn.Item{Shard: s, Field: keyspace.Field(key), Expected: old.stamp}
	if t != nil {
		it.Value = string(codec.AppendRecord([]byte(newStamp()), t))
	}
	moveName(&it, old.task, t)
	moveBody(&it, old.task, t)
	moveIndex(&it, old.task, t)
	moveCounts(&it, old.task, t)
	return it
}

func keyOf(old, t *task.Task) task.Key {
	if t != nil {
		return t.Key()
	}
	return old.Key()
}

// stampOf returns the stamp that the record bears once it is carried out.
func stampOf(it *redisconn.Item) string {
	if it.Value == "" {
		return ""
	}
	return it.Value[:stampLen]
}

func moveName(it *redisconn.Item, old, t *task.Task) {
	switch {
	case old == nil:
		it.Write("ZADD", it.Shard.Names, "0", it.Field)
	case t == nil:
		it.Write("ZREM", it.Shard.Names, it.Field)
	}
}

// moveBody stores a body that t carries, and removes one that it no longer has.
// A body that t has and does not carry is stored already.
func moveBody(it *redisconn.Item, old, t *task.Task) {
	switch {
	case t != nil && t.Request.BodySize > 0 && t.Request.Body != nil:
		it.Write("HSET", it.Shard.Body, it.Field, string(t.Request.Body))
	case old != nil && old.Request.BodySize > 0 && (t == nil || t.Request.BodySize == 0):
		it.Write("HDEL", it.Shard.Body, it.Field)
	}
}

// place is where the one index entry of a task is.
type place struct {
	key, member string
	score       task.Millis
	lane        string // "": it is not scheduled
}

// placeIn returns where the index entry of t is in shard s.
func placeIn(s *keyspace.Shard, t *task.Task) place {
	if t == nil {
		return place{}
	}
	p := place{member: keyspace.Field(t.Key())}
	switch t.State {
	case task.Scheduled:
		p.lane, p.member, p.score = keyspace.LaneMember(t.Lane()), t.Name, t.Due
		p.key = s.Due(p.lane)
	case task.Running:
		p.key, p.score = s.Running, t.Lease.Until
	case task.Dead:
		p.key, p.score = s.Dead, t.KeepUntil
	default:
		p.key, p.score = s.Gone, t.KeepUntil
	}
	return p
}

func moveIndex(it *redisconn.Item, old, t *task.Task) {
	from, to := placeIn(it.Shard, old), placeIn(it.Shard, t)
	if from == to {
		return
	}
	if from.key != "" && (from.key != to.key || from.member != to.member) {
		it.Write("ZREM", from.key, from.member)
	}
	enterIndex(it, to)
}

// enterIndex writes an index entry.
func enterIndex(it *redisconn.Item, p place) {
	if p.key == "" {
		return
	}
	it.Write("ZADD", p.key, redisconn.Score(p.score), p.member)
	if p.lane != "" {
		it.Write("ZADD", it.Shard.Lanes, "LT", redisconn.Score(p.score), p.lane)
	}
}

// moveCounts takes the change into the counts of the shard.
func moveCounts(it *redisconn.Item, old, t *task.Task) {
	if line, change := task.Unfinished(old, t); change != 0 {
		it.Write("HINCRBY", it.Shard.Counts, unfinishedField(line), strconv.FormatInt(change, 10))
	}
	if old != nil && t != nil && old.Queue != t.Queue {
		countTask(it, old, -1)
		countTask(it, t, 1)
		return
	}
	var diff task.Counts
	diff.Move(old, t)
	addCounts(it, task.QueueKey{Namespace: keyOf(old, t).Namespace, Queue: queueOf(old, t)}, diff)
}

func queueOf(old, t *task.Task) string {
	if t != nil {
		return t.Queue
	}
	return old.Queue
}

// countTask adds t to the counts of its queue, or takes it out.
func countTask(it *redisconn.Item, t *task.Task, sign int64) {
	var one task.Counts
	one.Move(nil, t)
	for i := range one.States {
		one.States[i] *= sign
	}
	one.Bytes *= sign
	addCounts(it, task.QueueKey{Namespace: t.Namespace, Queue: t.Queue}, one)
}

func addCounts(it *redisconn.Item, q task.QueueKey, diff task.Counts) {
	for state, n := range diff.States {
		if n != 0 {
			it.Write("HINCRBY", it.Shard.Counts, countField(q, strconv.Itoa(state)), strconv.FormatInt(n, 10))
		}
	}
	if diff.Bytes != 0 {
		it.Write("HINCRBY", it.Shard.Counts, countField(q, "bytes"), strconv.FormatInt(diff.Bytes, 10))
	}
}

// unfinishedField returns where it is counted how many occurrences of a schedule are unfinished.
func unfinishedField(line task.QueueKey) string {
	return countField(line, strconv.Itoa(int(task.Scheduled)))
}

func countField(q task.QueueKey, what string) string {
	return q.Namespace + "/" + q.Queue + "/" + what
}

// addCount takes a field of a shard's counts, and its value, into counts.
func addCount(counts map[task.QueueKey]task.Counts, field string, n int64) error {
	parts := strings.Split(field, "/")
	if len(parts) != 3 {
		return fmt.Errorf("count %q: %w", field, errDamaged)
	}
	key := task.QueueKey{Namespace: parts[0], Queue: parts[1]}
	c := counts[key]
	if parts[2] == "bytes" {
		c.Bytes += n
	} else {
		state, err := strconv.Atoi(parts[2])
		if err != nil || state < 0 || state >= len(c.States) {
			return fmt.Errorf("count %q: %w", field, errDamaged)
		}
		c.States[state] += n
	}
	counts[key] = c
	return nil
}

// repairOf returns a repair that depends on a record's stamp, "" for no record.
func repairOf(sh *keyspace.Shard, field, stamp string) *redisconn.Repair {
	return redisconn.NewRepair(sh.Meta, field, stampLen, stamp)
}
