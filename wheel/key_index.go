package wheel

// keyIndex finds the timers of one shard by their keys. The shard's lock guards
// it, so a timer and its tag come and go in one step.
//
// It holds no keys, because they are stored next to the values, and a lookup
// compares them there. So a timer costs 12 to 16 bytes in the index, for keys
// of any type, and the garbage collector never scans the index. Go's map takes
// 23 to 38 bytes for a uint64 key, 34 to 56 for a string, and never gives them
// back.
//
// The index is divided into segments by hash bits that have no other use.
// Growing or shrinking one segment holds the lock for a fraction of a
// millisecond, even with a million keys in the shard.
type keyIndex [segments]segment

const segments = 64

// segment is a hash table with linear probing. Its tags are roughly in the
// order of their hashes, so growing and shrinking read and write sequentially.
type segment struct {
	slots []tag // at least a quarter are empty
	used  int
}

const minSlots = 8

// tag is the upper 35 bits of a key's hash and, below them, the index of the
// timer's node. 0 is an empty slot.
type tag uint64

const tagHashShift = indexBits + 1

func makeTag(hash uint64, index uint32) tag {
	return tag(hash>>tagHashShift<<tagHashShift | uint64(index)<<1 | 1)
}

func (t tag) index() uint32            { return uint32(t>>1) & maxIndex }
func (t tag) matches(hash uint64) bool { return (uint64(t)^hash)>>tagHashShift == 0 }

// of returns the segment of a hash. The low 8 bits of the hash select the
// shard.
func (x *keyIndex) of(hash uint64) *segment { return &x[hash>>8%segments] }

// start returns the slot where the search for a hash begins. It depends only on
// the bits of the hash that a tag keeps.
func (s *segment) start(hash uint64) int { return int(hash >> 32 * uint64(len(s.slots)) >> 32) }

func (s *segment) after(slot int) int {
	if slot++; slot < len(s.slots) {
		return slot
	}
	return 0
}

// distance returns the number of steps from one slot to another.
func (s *segment) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(s.slots)
}

// insert adds a tag that is not in the segment.
func (s *segment) insert(t tag) {
	if s.used >= len(s.slots)/4*3 {
		s.resize(len(s.slots) + len(s.slots)/2)
	}
	s.used++
	s.put(t)
}

func (s *segment) put(t tag) {
	slot := s.start(uint64(t))
	for s.slots[slot] != 0 {
		slot = s.after(slot)
	}
	s.slots[slot] = t
}

// remove removes the tag of a timer, which must be in the index. If the caller
// has changed the key, its hash selects the wrong segment. Then remove searches
// all segments, because a tag must not outlive its timer.
func (x *keyIndex) remove(hash uint64, index uint32) {
	if x.of(hash).remove(makeTag(hash, index)) {
		return
	}
	for i := range x {
		for _, t := range x[i].slots {
			if t != 0 && t.index() == index {
				x[i].remove(t)
				return
			}
		}
	}
}

// remove removes a tag and reports whether it was there. It moves up the tags
// that were pushed away from their start slots, so that no search meets a gap.
func (s *segment) remove(t tag) bool {
	if s.used == 0 {
		return false
	}
	gap := s.start(uint64(t))
	for s.slots[gap] != t {
		if s.slots[gap] == 0 {
			return false
		}
		gap = s.after(gap)
	}
	for slot := s.after(gap); s.slots[slot] != 0; slot = s.after(slot) {
		if s.distance(s.start(uint64(s.slots[slot])), slot) >= s.distance(gap, slot) {
			s.slots[gap] = s.slots[slot]
			gap = slot
		}
	}
	s.slots[gap] = 0
	s.used--
	if s.used < len(s.slots)/4 && len(s.slots) > minSlots {
		s.resize(2 * s.used)
	}
	return true
}

// resize gives the segment room for slots tags. Callers leave it about half
// full, so the next resize follows only after a number of insertions or
// removals in proportion to its length.
func (s *segment) resize(slots int) {
	old := s.slots
	s.slots = make([]tag, max(minSlots, slots))
	for _, t := range old {
		if t != 0 {
			s.put(t)
		}
	}
}
