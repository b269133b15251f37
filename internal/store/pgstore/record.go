package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// inlineBody is the largest body that is stored in a record. A larger one has a
// column of its own, so that a claim does not write it again.
const inlineBody = 1 << 10

// record is a record as it was read or written.
type record struct {
	task   *task.Task // without its body; nil means that there is no record
	stamp  int64      // valid if task is not nil
	inline []byte     // the body, if the record has it

	// If there are pending operations, task is their result on the stored task. It has
	// its body if a put is among them.
	pending []operation
	stored  *task.Task
}

// Current implements kernel.recorded.
func (r record) Current() *task.Task { return r.task }

// written returns the task without pending operations.
func (r *record) written() *task.Task {
	if r.pending != nil {
		return r.stored
	}
	return r.task
}

// found is a record that was read.
type found struct {
	record
	body []byte // if it was requested
	err  error  // the record exists and cannot be read
}

func (f *found) withBody() *task.Task {
	t := *f.task
	t.Request.Body = f.body
	return &t
}

// keyOf returns a task's key in the tables. Neither part of it can contain a slash.
func keyOf(k task.Key) string { return k.Namespace + "/" + k.Name }

func parseKey(s string) (task.Key, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return task.Key{}, fmt.Errorf("%q is not a task: %w", s, codec.ErrDamaged)
	}
	return task.Key{Namespace: namespace, Name: name}, nil
}

func hash(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:8])
}

// shardOf returns the shard of a task. Names with the same text before an @ are in
// one shard, so a schedule and its tasks are.
func (s *Store) shardOf(k task.Key) int16 {
	name, _, _ := strings.Cut(strings.TrimPrefix(k.Name, "@"), "@") // the name of a schedule begins with one
	return int16(hash(k.Namespace+"/"+name) % uint64(s.shards))
}

// laneOf returns the hash of a lane. No user can find another lane with the hash of a given one.
func laneOf(l task.Lane) int64 {
	return int64(hash(fmt.Sprintf("%s/%s/%d/%s", l.Namespace, l.Queue, l.Priority, l.Destination)))
}

// endedOf returns the value of the column ended.
func endedOf(namespace string, dead bool, place string) []byte {
	class := "f"
	if dead {
		class = "d"
	}
	return []byte(namespace + "/" + class + place)
}

// idemOf returns the value of the column idem.
func idemOf(namespace, digest string) []byte { return []byte(namespace + "/" + digest) }

func newStamp() int64 { return rand.Int64() }

const readRecords = `
SELECT t.key, t.stamp, t.record, CASE WHEN u.body THEN t.body END, l.until, t.pending
FROM unnest($1::text[], $2::bool[]) u(key, body) JOIN task t USING (key) LEFT JOIN lease l USING (key)`

// read reads records, each in one snapshot with its body.
func (s *Store) read(ctx context.Context, keys []task.Key, bodies []bool) ([]found, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	texts, at := make([]string, len(keys)), make(map[string][]int, len(keys))
	for i, k := range keys {
		texts[i] = keyOf(k)
		at[texts[i]] = append(at[texts[i]], i)
	}
	all := make([]found, len(keys))
	_, err := query(ctx, s, func(row pgx.CollectableRow) (struct{}, error) {
		var key string
		var f found
		var data, pending []byte
		var until *int64
		if err := row.Scan(&key, &f.stamp, &data, &f.body, &until, &pending); err != nil {
			return struct{}{}, err
		}
		k, _ := parseKey(key)
		if f.decode(key, data, until); f.err == nil {
			f.err = s.pend(k, &f, pending)
		}
		for _, i := range at[key] {
			all[i] = f
		}
		return struct{}{}, nil
	}, readRecords, texts, bodies)
	return all, err
}

// decode decodes a record, nil if only pending operations have it. It moves the body out
// of it, and sets the end of its lease.
func (f *found) decode(key string, data []byte, until *int64) {
	k, err := parseKey(key)
	if err == nil && data != nil {
		f.task, err = codec.DecodeRecord(k, data)
	}
	if f.err = err; f.task == nil {
		return
	}
	f.inline, f.task.Request.Body = f.task.Request.Body, nil
	if f.inline != nil {
		f.body = f.inline
	}
	if until != nil && f.task.Lease != nil {
		f.task.Lease.Until = task.Millis(*until)
	}
}
