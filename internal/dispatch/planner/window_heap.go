package planner

// ordered is an element of a heap. It has a method for the order and stores its
// own index, so that an element in the middle can be moved or removed.
type ordered[T any] interface {
	comparable
	before(other T) bool
	place() *int
}

// heap is a binary heap, and an element is in at most one heap at a time.
type heap[T ordered[T]] struct {
	items []T
}

func (h *heap[T]) len() int { return len(h.items) }

// min returns the first element of the heap, which must not be empty.
func (h *heap[T]) min() T { return h.items[0] }

func (h *heap[T]) push(v T) {
	h.items = append(h.items, v)
	h.up(len(h.items) - 1)
}

// remove removes v, which must be in h.
func (h *heap[T]) remove(v T) {
	i, last := *v.place(), len(h.items)-1
	h.set(i, h.items[last])
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	if i < last {
		h.up(h.down(i))
	}
}

// fix restores the order after a change of v.
func (h *heap[T]) fix(v T) { h.up(h.down(*v.place())) }

func (h *heap[T]) set(i int, v T) {
	h.items[i] = v
	*v.place() = i
}

func (h *heap[T]) up(i int) {
	v := h.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !v.before(h.items[parent]) {
			break
		}
		h.set(i, h.items[parent])
		i = parent
	}
	h.set(i, v)
}

// down returns the new index of the element.
func (h *heap[T]) down(i int) int {
	v := h.items[i]
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if right := child + 1; right < len(h.items) && h.items[right].before(h.items[child]) {
			child = right
		}
		if !h.items[child].before(v) {
			break
		}
		h.set(i, h.items[child])
		i = child
	}
	h.set(i, v)
	return i
}
