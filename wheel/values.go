package wheel

import "runtime"

// values holds the values of the timers, in chunks parallel to the table's. A
// value is zeroed when its timer ends, so the wheel does not keep it alive. The
// methods need the table's lock.
type values[T any] struct {
	chunks []*[chunkCells]T
}

func (v *values[T]) put(index uint32, x T) {
	chunk := int(index >> chunkShift)
	if chunk >= len(v.chunks) || v.chunks[chunk] == nil {
		v.grow(chunk)
	}
	*v.at(index) = x
}

func (v *values[T]) grow(chunk int) {
	for chunk >= len(v.chunks) {
		v.chunks = append(v.chunks, nil)
	}
	v.chunks[chunk] = new([chunkCells]T)
}

// at returns the cell of an index that is in use. It checks for nil for the
// same reason as table.at.
func (v *values[T]) at(index uint32) *T {
	cells := v.chunks[index>>chunkShift]
	if cells == nil {
		return nil
	}
	return &cells[index&chunkMask]
}

// touch loads the cell into the processor's cache.
func (v *values[T]) touch(index uint32) {
	if cells := v.chunks[index>>chunkShift]; cells != nil {
		runtime.KeepAlive(cells[index&chunkMask])
	}
}

// take returns the value and zeroes its cell.
func (v *values[T]) take(index uint32) T {
	cell := v.at(index)
	x := *cell
	var zero T
	*cell = zero
	return x
}

// release frees the memory of the chunk of index.
func (v *values[T]) release(index uint32) { v.chunks[index>>chunkShift] = nil }
