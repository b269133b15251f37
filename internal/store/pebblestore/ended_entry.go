package pebblestore

import (
	"encoding/binary"
	"errors"

	"github.com/foliot/foliot/internal/task"
)

// endedEntry is the value of an index entry of a dead or finished task. It
// contains all that a sweep must know of the record, so that the sweep need not
// read it. On disk: the state, 1 byte; the stored bytes (Task.Stored) and the
// length of the queue's name, varints; that name; the digest of the
// Idempotency-Key.
type endedEntry struct {
	state  task.State
	size   int64 // Task.Stored
	queue  string
	digest string
}

func endedEntryOf(t *task.Task) endedEntry {
	return endedEntry{state: t.State, size: t.Stored(), queue: t.Queue, digest: digest(t)}
}

// task returns the part of the record that counts need.
func (k endedEntry) task(key task.Key) *task.Task {
	return task.Remains(key, k.queue, k.state, k.size)
}

func (k endedEntry) append(dst []byte) []byte {
	dst = append(dst, byte(k.state))
	dst = binary.AppendUvarint(dst, uint64(k.size))
	dst = binary.AppendUvarint(dst, uint64(len(k.queue)))
	dst = append(dst, k.queue...)
	return append(dst, k.digest...)
}

func parseEndedEntry(src []byte) (endedEntry, error) {
	damaged := errors.Join(errDamaged, errors.New("the index entry of an ended task"))
	if len(src) == 0 || !task.State(src[0]).Valid() || task.State(src[0]).Live() {
		return endedEntry{}, damaged
	}
	k := endedEntry{state: task.State(src[0])}
	size, n := binary.Uvarint(src[1:])
	if n <= 0 || size > task.MaxBody {
		return endedEntry{}, damaged
	}
	k.size, src = int64(size), src[1+n:]
	length, n := binary.Uvarint(src)
	if n <= 0 || length > uint64(len(src)-n) {
		return endedEntry{}, damaged
	}
	k.queue, k.digest = string(src[n:n+int(length)]), string(src[n+int(length):])
	return k, nil
}
