package redisstore

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// slots is how many hash slots a Redis Cluster has.
const slots = 16384

// shard is a part of all tasks, whose keys lie in one hash slot: they all have
// its tag in braces. Whether its server is part of a cluster or not makes no
// difference here.
type shard struct {
	number int
	prefix string // "foliot:{tag}:"
	slot   uint16

	meta, body, names, lanes, running, dead, gone, own, counts, log, logs, idem, wake string
}

// newShards returns the n shards. Their slots are spread evenly, so that any
// number of masters that share the slots evenly share the shards, too.
func newShards(n int) []*shard {
	shards := make([]*shard, n)
	for missing, i := n, 0; missing > 0; i++ {
		tag := strconv.FormatInt(int64(i), 36)
		slot := keySlot(tag)
		if at := int(slot) * n / slots; shards[at] == nil {
			shards[at] = newShard(at, tag, slot)
			missing--
		}
	}
	return shards
}

func newShard(number int, tag string, slot uint16) *shard {
	p := "foliot:{" + tag + "}:"
	return &shard{
		number: number, prefix: p, slot: slot,
		meta: p + "meta", body: p + "body", names: p + "names",
		lanes: p + "idx", running: p + "fly", dead: p + "dead", gone: p + "gone",
		own: p + "own", counts: p + "cnt", log: p + "log", logs: p + "logs", idem: p + "idem", wake: p + "wake",
	}
}

// due returns the key of a lane's due index.
func (s *shard) due(lane string) string { return s.prefix + "due:" + lane }

// shardOf returns the number of the shard, of n, in which a task lies. What was
// made of a name lies where the name does.
func shardOf(key task.Key, n int) int {
	given, _, _ := strings.Cut(strings.TrimPrefix(key.Name, "@"), "@") // a schedule's begins with one
	return spread(key.Namespace+"/"+given, n)
}

// idemShard returns the number of the shard, of n, that knows who used an
// Idempotency-Key.
func idemShard(namespace, digest string, n int) int { return spread(namespace+"/"+digest, n) }

func spread(s string, n int) int {
	sum := sha256.Sum256([]byte(s))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
}

// field returns the field, or the member, that stands for a task where a key
// holds those of many namespaces. Neither part can contain a slash.
func field(key task.Key) string { return key.Namespace + "/" + key.Name }

func parseField(s string) (task.Key, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return task.Key{}, fmt.Errorf("%q names no task: %w", s, errDamaged)
	}
	return task.Key{Namespace: namespace, Name: name}, nil
}

// laneMember returns the member of the index of lanes that stands for l.
func laneMember(l task.Lane) string {
	return l.Namespace + "/" + l.Queue + "/" + strconv.Itoa(int(l.Priority)) + "/" + l.Destination
}

func parseLane(s string) (task.Lane, error) {
	parts := strings.SplitN(s, "/", 4)
	if len(parts) == 4 {
		if p, err := strconv.ParseUint(parts[2], 10, 8); err == nil {
			return task.Lane{Namespace: parts[0], Queue: parts[1], Priority: task.Priority(p), Destination: parts[3]}, nil
		}
	}
	return task.Lane{}, fmt.Errorf("%q names no lane: %w", s, errDamaged)
}

// keySlot returns the slot of a key that has no braces: CRC16 (XMODEM), as in
// the specification of Redis Cluster.
func keySlot(key string) uint16 {
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
	return crc % slots
}
