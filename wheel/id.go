package wheel

// ID names one timer of one wheel, for as long as it is pending. Zero is never valid. Once its timer has fired or was
// removed an ID is stale: every call with it answers false, and it never comes to mean another timer of its wheel. To another
// wheel it may mean one.
type ID uint64

// An ID is the shard (8 bits), the generation of the node (28) and the index of the node within its shard (28).
// Generations begin at 1, so no ID is zero.
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
