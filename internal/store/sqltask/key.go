package sqltask

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// Key returns a task's key in the tables. Neither part of it can contain a slash.
func Key(k task.Key) string { return k.Namespace + "/" + k.Name }

// ParseKey is the inverse of Key.
func ParseKey(s string) (task.Key, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return task.Key{}, fmt.Errorf("%q is not a task: %w", s, codec.ErrDamaged)
	}
	return task.Key{Namespace: namespace, Name: name}, nil
}

// Hash returns a hash of a text. Finding another text with the hash of a given one
// takes 2^64 tries.
func Hash(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:8])
}

// Shard returns the shard of a task, out of shards. Names with the same text before an @
// are in one shard, so a schedule and its tasks are.
func Shard(k task.Key, shards int) int16 {
	name, _, _ := strings.Cut(strings.TrimPrefix(k.Name, "@"), "@") // the name of a schedule begins with one
	return int16(Hash(k.Namespace+"/"+name) % uint64(shards))
}

// Lane returns the value of the column lane.
func Lane(l task.Lane) int64 {
	return int64(Hash(fmt.Sprintf("%s/%s/%d/%s", l.Namespace, l.Queue, l.Priority, l.Destination)))
}

// Ended returns the value of the column ended.
func Ended(namespace string, dead bool, place string) []byte {
	class := "f"
	if dead {
		class = "d"
	}
	return []byte(namespace + "/" + class + place)
}

// Idem returns the value of the column idem.
func Idem(namespace, digest string) []byte { return []byte(namespace + "/" + digest) }
