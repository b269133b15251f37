package keyspace

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// Slots is the number of hash slots of a Redis Cluster.
const Slots = 16384

// Shard is a part of all tasks. Its keys lie in one hash slot, because all of them have
// its tag in braces, even without a Cluster.
type Shard struct {
	Number int
	Prefix string // "foliot:{tag}:", if foliot is the prefix of the store
	Slot   uint16

	Records, Body, Names, Lanes, Running, Dead, Gone, Keep, Own, Counts, Idem, Wake string
}

// Shards returns the n shards of a store. Their slots are spread evenly, so any number of
// masters that share the slots evenly also share the shards evenly.
func (k *Keys) Shards(n int) []*Shard {
	shards := make([]*Shard, n)
	for missing, i := n, 0; missing > 0; i++ {
		tag := strconv.FormatInt(int64(i), 36)
		slot := SlotOf(tag)
		if at := int(slot) * n / Slots; shards[at] == nil {
			shards[at] = k.Shard(at, tag, slot)
			missing--
		}
	}
	return shards
}

// Shard returns a shard with tag in its keys, where slot must be that of tag.
func (k *Keys) Shard(number int, tag string, slot uint16) *Shard {
	p := k.prefix + "{" + tag + "}:"
	return &Shard{
		Number: number, Prefix: p, Slot: slot,
		Records: p + "meta", Body: p + "body", Names: p + "names",
		Lanes: p + "idx", Running: p + "fly", Dead: p + "dead", Gone: p + "gone", Keep: p + "keep",
		Own: p + "own", Counts: p + "cnt", Idem: p + "idem", Wake: p + "wake" + k.database,
	}
}

// Due returns the key of a lane's due index.
func (s *Shard) Due(lane string) string { return s.Prefix + "due:" + lane }

// ShardOf returns the number of the shard, of n, that holds a task. If a name
// is derived from another name, both tasks are in the same shard.
func ShardOf(key task.Key, n int) int {
	given, _, _ := strings.Cut(strings.TrimPrefix(key.Name, "@"), "@") // the name of a schedule's occurrence begins with one
	return spread(key.Namespace+"/"+given, n)
}

// IdemShard returns the number of the shard, of n, that records the user of an
// Idempotency-Key.
func IdemShard(namespace, digest string, n int) int { return spread(namespace+"/"+digest, n) }

func spread(s string, n int) int {
	sum := sha256.Sum256([]byte(s))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

// Field returns the field or member for a task in a key that covers many namespaces,
// where neither part can contain a slash.
func Field(key task.Key) string { return key.Namespace + "/" + key.Name }

// ParseField returns the task for a field or member.
func ParseField(s string) (task.Key, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return task.Key{}, fmt.Errorf("%q is not a task: %w", s, codec.ErrDamaged)
	}
	return task.Key{Namespace: namespace, Name: name}, nil
}

// EndMember returns the member for an ended task in an index by end: its
// namespace, a slash, and its task.EndedPlace.
func EndMember(namespace string, end task.Millis, name string) string {
	return namespace + "/" + task.EndedPlace(end, name)
}

// FieldOfEnd returns the field for the task with a member of an index by end.
func FieldOfEnd(member string) string {
	namespace, place, _ := strings.Cut(member, "/")
	return namespace + "/" + place[min(task.EndedPlaceTime, len(place)):]
}

// LaneMember returns the member for l in the index of lanes.
func LaneMember(l task.Lane) string {
	return l.Namespace + "/" + l.Queue + "/" + strconv.Itoa(int(l.Priority)) + "/" + l.Destination
}

// ParseLane returns the lane for a member of the index of lanes.
func ParseLane(s string) (task.Lane, error) {
	parts := strings.SplitN(s, "/", 4)
	if len(parts) == 4 {
		if p, err := strconv.ParseUint(parts[2], 10, 8); err == nil {
			return task.Lane{Namespace: parts[0], Queue: parts[1], Priority: task.Priority(p), Destination: parts[3]}, nil
		}
	}
	return task.Lane{}, fmt.Errorf("%q is not a lane: %w", s, codec.ErrDamaged)
}

// SlotOf returns the slot of a key without braces: CRC16 (XMODEM), as in the
// specification of Redis Cluster.
func SlotOf(key string) uint16 {
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % Slots
}
