package pebblestore

import (
	"encoding/binary"
	"errors"

	"github.com/foliot/foliot/internal/task"
)

// endedEntry is the value of a dead or finished task's entry in keepPrefix. It
// contains all that a sweep must know of the record, so that the sweep need not
// read it. On disk: the state, 1 byte; the time of the end, 8 bytes; the stored
// bytes (Task.Stored) and the length of the queue's name, varints; that name; the
// digest of the Idempotency-Key.
type endedEntry struct {
	state  task.State
	end    task.Millis
	size   int64 // Task.Stored
	queue  string
	digest string
}

// task returns the part of the record that counts and the index by end need.
func (e endedEntry) task(key task.Key) *task.Task {
	t := task.Remains(key, e.queue, e.state, e.size)
	t.FinishedAt = e.end
	return t
}

func (e endedEntry) append(dst []byte) []byte {
	dst = appendInstant(append(dst, byte(e.state)), e.end)
	dst = binary.AppendUvarint(dst, uint64(e.size))
	dst = binary.AppendUvarint(dst, uint64(len(e.queue)))
	dst = append(dst, e.queue...)
	return append(dst, e.digest...)
}

func parseEndedEntry(src []byte) (endedEntry, error) {
	damaged := errors.Join(errDamaged, errors.New("the index entry of an ended task"))
	if len(src) < 1+instantLen || !task.State(src[0]).Valid() || task.State(src[0]).Live() {
		return endedEntry{}, damaged
	}
	k := endedEntry{state: task.State(src[0]), end: instant(src[1:])}
	src = src[1+instantLen:]
	size, n := binary.Uvarint(src)
	if n <= 0 || size > task.MaxBody {
		return endedEntry{}, damaged
	}
	k.size, src = int64(size), src[n:]
	length, n := binary.Uvarint(src)
	if n <= 0 || length > uint64(len(src)-n) {
		return endedEntry{}, damaged
	}
	k.queue, k.digest = string(src[n:n+int(length)]), string(src[n+int(length):])
	return k, nil
}
