package pebblestore

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// recordCache has the encoded records and the large bodies of tasks that were
// written a short time ago and are due soon, so most claims read nothing from the
// tables.
//
// It is exact, because the committer makes every change: a record is in the cache
// as the newest batch left it, or it is not in the cache. The oldest entries are
// dropped when there are too many. Entries are bytes without pointers, so the
// garbage collector does not look at them.
type recordCache struct {
	seed   maphash.Seed
	at     map[uint64]entryPlace // by the hash of the key
	chunks [][]byte              // the chunks in use; they are filled one after the other, in a circle
	newest int                   // the index of the chunk that is being filled
	key    []byte                // scratch
}

// entryPlace is the place of an entry.
type entryPlace struct{ chunk, offset uint32 }

const (
	// cachedAhead is how far ahead a task's due time may be, because tasks that are
	// due later would push out those that are due soon.
	cachedAhead = 5 * 60 * 1000

	cacheChunk    = 1 << 20
	cacheChunks   = 32
	largestCached = cacheChunk / 16 // a larger entry costs more to copy than to read

	entryHead = 3 * 4 // the lengths of the key, the record and the body
)

func newRecordCache() recordCache {
	return recordCache{seed: maphash.MakeSeed(), at: make(map[uint64]entryPlace)}
}

// note updates the cache after the record t was written as value, with its body
// outside of the record, or nil. A task with such a body that the caller does not
// have is not whole, and not kept.
func (c *recordCache) note(now task.Millis, t *task.Task, value, body []byte, whole bool) {
	c.key = appendName(c.key[:0], t.Key())
	hash := maphash.Bytes(c.seed, c.key)
	size := entryHead + len(c.key) + len(value) + len(body)
	if t.State != task.Scheduled || t.Due > now+cachedAhead || !whole || size > largestCached {
		delete(c.at, hash) // perhaps the entry of another key, which is a loss but no harm
		return
	}
	place := c.room(size)
	b := c.chunks[place.chunk]
	for _, n := range [...]int{len(c.key), len(value), len(body)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = append(append(append(b, c.key...), value...), body...)
	c.chunks[place.chunk] = b
	c.at[hash] = place
}

func (c *recordCache) drop(key task.Key) {
	c.key = appendName(c.key[:0], key)
	delete(c.at, maphash.Bytes(c.seed, c.key))
}

// room returns the place of a new entry, and empties the oldest chunk if all are
// full.
func (c *recordCache) room(size int) entryPlace {
	if len(c.chunks) > 0 && len(c.chunks[c.newest])+size <= cacheChunk {
		return entryPlace{uint32(c.newest), uint32(len(c.chunks[c.newest]))}
	}
	if len(c.chunks) < cacheChunks {
		c.newest = len(c.chunks)
		c.chunks = append(c.chunks, make([]byte, 0, cacheChunk))
		return entryPlace{uint32(c.newest), 0}
	}
	c.newest = (c.newest + 1) % cacheChunks
	c.empty(uint32(c.newest))
	return entryPlace{uint32(c.newest), 0}
}

func (c *recordCache) empty(chunk uint32) {
	b := c.chunks[chunk]
	for offset := 0; offset < len(b); {
		key, value, body := splitEntry(b[offset:])
		hash := maphash.Bytes(c.seed, key)
		if c.at[hash] == (entryPlace{chunk, uint32(offset)}) {
			delete(c.at, hash)
		}
		offset += entryHead + len(key) + len(value) + len(body)
	}
	c.chunks[chunk] = b[:0]
}

// splitEntry returns the parts of the entry at the beginning of b.
func splitEntry(b []byte) (key, value, body []byte) {
	length := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	n, m, k := length(0), length(1), length(2)
	b = b[entryHead:]
	return b[:n], b[n : n+m], b[n+m : n+m+k]
}

// find returns the encoded record and the body of key, or false if the cache does
// not have it. The results are valid until the next note.
func (c *recordCache) find(key task.Key) (value, body []byte, ok bool) {
	c.key = appendName(c.key[:0], key)
	place, ok := c.at[maphash.Bytes(c.seed, c.key)]
	if !ok {
		return nil, nil, false
	}
	found, value, body := splitEntry(c.chunks[place.chunk][place.offset:])
	return value, body, string(found) == string(c.key)
}

func (c *recordCache) record(key task.Key) (*task.Task, bool, error) {
	value, _, ok := c.find(key)
	if !ok {
		return nil, false, nil
	}
	t, err := codec.DecodeRecord(key, value)
	return t, true, err
}
