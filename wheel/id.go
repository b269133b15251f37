package wheel

// ID identifies one timer of one wheel while the timer is pending, and is never
// zero. After the timer has fired or was removed, its ID is stale: every call
// with it returns false, and it never identifies another timer of the same
// wheel. In another wheel it may identify a timer.
type ID uint64

// An ID consists of the shard (8 bits), the generation of the node (28 bits)
// and the index of the node in its shard (28 bits). Generations begin at 1, so
// no ID is zero.
const (
	indexBits      = 28
	generationBits = 28

	maxIndex      = 1<<indexBits - 1
	maxGeneration = 1<<generationBits - 1
)

func makeID(shard, generation, index uint32) ID {
	return ID(uint64(shard)<<(generationBits+indexBits) | uint64(generation)<<indexBits | uint64(index))
}

func (id ID) shard() uint32      { return uint32(id >> (generationBits + indexBits)) }
func (id ID) generation() uint32 { return uint32(id>>indexBits) & maxGeneration }
func (id ID) index() uint32      { return uint32(id) & maxIndex }
