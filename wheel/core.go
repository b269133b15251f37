package wheel

// Core is a timing wheel without a lock and without a clock: its owner passes
// the time as a tick. It is for event loops and simulations, where one
// goroutine owns everything. A Wheel adds locks and a clock to the same parts.
//
// A tick is any unit that the owner counts in, and timers for ticks at or after
// 2^48 - 1 never fire. Adding, moving and removing a timer is O(1), and a timer
// moves at most seven times between slots before it fires. A Core allocates
// memory in chunks, not for each timer. A timer that is added for a tick at or
// before now, and then removed, leaves 8 bytes until the next Advance.
//
// A Core must not be used by two goroutines at the same time. NewCore makes a
// Core; the zero Core does not work.
type Core[T any] struct {
	nodes  table
	values values[T]
	ticks  hierarchy
}

// NewCore returns an empty Core at tick now.
func NewCore[T any](now uint64) *Core[T] {
	c := &Core[T]{nodes: newTable()}
	c.ticks = newHierarchy(&c.nodes, min(now, maxTick-1), 0, 0)
	return c
}

// Add sets a timer with value v for tick when, and returns its ID. A tick
// before the current one counts as the current one, so the next Advance fires
// the timer. Add returns ErrFull, and adds nothing, only if 2^28 timers are
// pending.
func (c *Core[T]) Add(when uint64, v T) (ID, error) {
	when = c.clamp(when)
	index, n, generation := c.nodes.take()
	if n == nil {
		return 0, ErrFull
	}
	c.values.put(index, v)
	c.ticks.add(index, n, generation, when)
	return makeID(0, generation, index), nil
}

// Reset moves a pending timer to tick when, earlier or later. It returns false,
// and does nothing, if the timer has fired or was removed.
func (c *Core[T]) Reset(id ID, when uint64) bool {
	n := c.node(id)
	if n == nil {
		return false
	}
	c.ticks.reset(id.index(), n, c.clamp(when), true)
	return true
}

// Remove ends a pending timer and returns its value. It returns false if the
// timer has fired or was removed.
func (c *Core[T]) Remove(id ID) (v T, ok bool) {
	n := c.node(id)
	if n == nil {
		return v, false
	}
	index := id.index()
	v = c.values.take(index)
	c.ticks.markStale(index, n, n.end())
	c.free(index)
	return v, true
}

// Next returns the tick for the next call of Advance: the start of the next
// busy slot. No timer is due before it, but the earliest deadline may be later
// if it is far away. In that case Advance fires nothing and only moves timers,
// so call Next again. If a timer is due already, Next returns the Core's
// current tick, and if no timer is pending, it returns false.
func (c *Core[T]) Next() (tick uint64, ok bool) { return c.ticks.next() }

// Advance moves the Core to tick now and calls fire for timers that are due, in
// the order of their ticks. It fires at most limit timers and returns how many
// it fired. If the result is less than limit, no due timer is left; otherwise
// call Advance again. A tick before the current one counts as the current one,
// and timers of the same tick fire in no particular order.
//
// A timer has ended when fire is called for it. fire may call Add, Reset,
// Remove, Next and Len, but not Advance. A timer that fire adds at or before
// the current tick fires in the same call, before those of later ticks.
func (c *Core[T]) Advance(now uint64, limit int, fire func(ID, T)) (fired int) {
	now = min(now, maxTick-1)
	for fired < limit {
		budget := 1 << 30
		index, _, ok := c.ticks.expire(now, &budget)
		if !ok {
			if budget > 0 {
				break
			}
			continue
		}
		n := c.nodes.at(index)
		id := makeID(0, n.generation(), index)
		v := c.values.take(index)
		c.free(index)
		fired++
		fire(id, v)
	}
	return fired
}

// Len returns the number of pending timers.
func (c *Core[T]) Len() int { return c.ticks.pending }

// clamp returns the tick that a timer for tick when gets.
func (c *Core[T]) clamp(when uint64) uint64 { return min(max(when, c.ticks.cursor), maxTick) }

// node returns the node of a pending timer of this Core, or nil.
func (c *Core[T]) node(id ID) *node {
	if id.shard() != 0 {
		return nil
	}
	return c.nodes.live(id)
}

func (c *Core[T]) free(index uint32) {
	if released, ok := c.nodes.free(index); ok {
		c.values.release(released)
	}
	c.ticks.leave()
	if c.ticks.pending == 0 {
		if released, ok := c.nodes.flushLastFreed(); ok {
			c.values.release(released)
		}
	}
}
