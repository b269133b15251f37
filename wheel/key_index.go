package wheel

// keyIndex finds the timers of one shard by their keys. It is guarded by the shard's lock, so that a timer and its way in
// come and go in one step.
//
// It holds no keys: those stand beside the values, and what a tag leads to is compared there. So it costs 12 to 16 bytes
// a timer, whatever a key is, and the garbage collector never looks at it. Go's map takes 23 to 38 bytes for a uint64,
// 34 to 56 for a string, and never gives them back.
//
// It is divided into drawers, by bits of the hash that nothing else uses, so that none takes long to grow or to shrink
// while the lock is held: a fraction of a millisecond with a million keys in the shard.
type keyIndex [drawers]drawer

const drawers = 64

// drawer is a hash table with linear probing. Tags stand in the order of their hashes, roughly, so that growing and
// shrinking read and write in sequence.
type drawer struct {
	slots []tag // at least a quarter are empty
	used  int
}

const minSlots = 8

// tag is the index of a timer's node, under the upper 35 bits of its key's hash. 0: none.
type tag uint64

const tagHashShift = indexBits + 1

func makeTag(hash uint64, index uint32) tag {
	return tag(hash>>tagHashShift<<tagHashShift | uint64(index)<<1 | 1)
}

func (t tag) index() uint32            { return uint32(t>>1) & maxIndex }
func (t tag) fits(hash uint64) bool    { return (uint64(t)^hash)>>tagHashShift == 0 }
func (r *keyIndex) of(h uint64) *drawer { return &r[h>>8%drawers] } // the low 8 bits have chosen the shard

// start returns the slot where the search for a hash begins. It depends only on the bits that a tag keeps.
func (d *drawer) start(hash uint64) int { return int(hash >> 32 * uint64(len(d.slots)) >> 32) }

func (d *drawer) after(slot int) int {
	if slot++; slot < len(d.slots) {
		return slot
	}
	return 0
}

// distance is how many steps it takes from one slot to another.
func (d *drawer) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(d.slots)
}

// insert adds a tag that is not there.
func (d *drawer) insert(t tag) {
	if d.used >= len(d.slots)/4*3 {
		d.resize(len(d.slots) + len(d.slots)/2)
	}
	d.used++
	d.put(t)
}

func (d *drawer) put(t tag) {
	slot := d.start(uint64(t))
	for d.slots[slot] != 0 {
		slot = d.after(slot)
	}
	d.slots[slot] = t
}

// remove takes out the tag of a timer, which is there. If the key has changed since, it stands elsewhere: then all drawers
// are searched, since a tag must not outlive its timer.
func (r *keyIndex) remove(hash uint64, index uint32) {
	if r.of(hash).remove(makeTag(hash, index)) {
		return
	}
	for i := range r {
		for _, t := range r[i].slots {
			if t != 0 && t.index() == index {
				r[i].remove(t)
				return
			}
		}
	}
}

// remove takes out a tag, if it is there, and moves up those behind it that had to go past their start slots because of it: no
// search ever meets a gap.
func (d *drawer) remove(t tag) bool {
	if d.used == 0 {
		return false
	}
	gap := d.start(uint64(t))
	for d.slots[gap] != t {
		if d.slots[gap] == 0 {
			return false
		}
		gap = d.after(gap)
	}
	for slot := d.after(gap); d.slots[slot] != 0; slot = d.after(slot) {
		if d.distance(d.start(uint64(d.slots[slot])), slot) >= d.distance(gap, slot) {
			d.slots[gap] = d.slots[slot]
			gap = slot
		}
	}
	d.slots[gap] = 0
	d.used--
	if d.used < len(d.slots)/4 && len(d.slots) > minSlots {
		d.resize(2 * d.used)
	}
	return true
}

// resize leaves the drawer about half full: the next comes only after insertions or removals in proportion to its length.
func (d *drawer) resize(slots int) {
	old := d.slots
	d.slots = make([]tag, max(minSlots, slots))
	for _, t := range old {
		if t != 0 {
			d.put(t)
		}
	}
}
