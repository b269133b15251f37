package pebblestore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// errDamaged marks keys and values that this code cannot have written.
var errDamaged = codec.ErrDamaged

// instantLen is the length of an instant in a key.
const instantLen = 8

func appendInstant(dst []byte, at task.Millis) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(at)^1<<63) // negative instants sort first
}

func instant(src []byte) task.Millis {
	return task.Millis(binary.BigEndian.Uint64(src) ^ 1<<63)
}

// appendTaskKey appends the key for k in one of the key spaces that are ordered
// by namespace and name: task, body, run.
func appendTaskKey(dst []byte, prefix string, k task.Key) []byte {
	dst = append(dst, prefix...)
	return appendName(dst, k)
}

func appendName(dst []byte, k task.Key) []byte {
	dst = append(dst, k.Namespace...)
	dst = append(dst, 0)
	return append(dst, k.Name...)
}

func appendIdemKey(dst []byte, namespace, digest string) []byte {
	dst = append(dst, idemPrefix...)
	dst = append(dst, namespace...)
	dst = append(dst, 0)
	return append(dst, digest...)
}

// appendLane appends the common prefix of the keys of a lane's entries.
func appendLane(dst []byte, l task.Lane) []byte {
	dst = append(dst, duePrefix...)
	dst = append(dst, l.Namespace...)
	dst = append(dst, 0)
	dst = append(dst, l.Queue...)
	dst = append(dst, 0, byte(l.Priority))
	dst = append(dst, l.Destination...)
	return append(dst, 0)
}

func appendDueKey(dst []byte, l task.Lane, p task.Position) []byte {
	dst = appendLane(dst, l)
	dst = appendInstant(dst, p.Due)
	return append(dst, p.Name...)
}

func appendEntryKey(dst []byte, t *task.Task, e kernel.Entry) []byte {
	switch e.Index {
	case kernel.ByDue:
		return appendDueKey(dst, t.Lane(), task.Position{Due: e.At, Name: t.Name})
	case kernel.ByLease:
		return appendTaskKey(dst, runPrefix, t.Key())
	case kernel.ByRetention:
		return appendName(appendInstant(append(dst, keepPrefix...), e.At), t.Key())
	}
	return appendTaskKey(dst, placePrefix[e.Index], task.Key{Namespace: t.Namespace, Name: task.EndedPlace(e.At, t.Name)})
}

// prefixEnd returns the first key after all keys that begin with prefix, if the
// last byte of prefix is not 0xff.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	end[len(end)-1]++
	return end
}

// parseName splits <namespace>\0<name>.
func parseName(src []byte) (task.Key, error) {
	namespace, name, ok := bytes.Cut(src, []byte{0})
	if !ok {
		return task.Key{}, fmt.Errorf("key %q: %w", src, errDamaged)
	}
	return task.Key{Namespace: string(namespace), Name: string(name)}, nil
}

// parseDueKey returns the lane and the position of an entry of the due index,
// and the length of the lane's part of the key.
func parseDueKey(key []byte) (task.Lane, task.Position, int, error) {
	damaged := fmt.Errorf("key %q of the due index: %w", key, errDamaged)
	rest := key[len(duePrefix):]
	namespace, rest, ok := bytes.Cut(rest, []byte{0})
	if !ok {
		return task.Lane{}, task.Position{}, 0, damaged
	}
	queue, rest, ok := bytes.Cut(rest, []byte{0})
	if !ok || len(rest) == 0 {
		return task.Lane{}, task.Position{}, 0, damaged
	}
	priority := rest[0]
	destination, rest, ok := bytes.Cut(rest[1:], []byte{0})
	if !ok || len(rest) < instantLen {
		return task.Lane{}, task.Position{}, 0, damaged
	}
	lane := task.Lane{
		Namespace: string(namespace), Queue: string(queue),
		Priority: task.Priority(priority), Destination: string(destination),
	}
	return lane, parsePosition(rest), len(key) - len(rest), nil
}

// parsePosition reads the part of a due key that follows the lane, which must
// have at least instantLen bytes.
func parsePosition(src []byte) task.Position {
	return task.Position{Due: instant(src), Name: string(src[instantLen:])}
}
