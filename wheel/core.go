package wheel

// Core is a timing wheel without a lock and without a clock: its owner says what tick it is. It is for event loops and
// simulation, where one goroutine owns everything. A Wheel puts the same parts behind locks, and reads the clock.
//
// A tick is whatever the owner counts in, below 2^48; a later one counts as 2^48 - 1, and that one never comes. Adding,
// moving and removing cost O(1); firing costs at most eight moves a timer over its whole life. It allocates in chunks,
// not for each timer. What is added for a tick at or before now, and removed again, leaves up to 16 bytes until the next
// Advance.
type Core[T any] struct {
	nodes  table
	values values[T]
	ticks  hierarchy
}

// NewCore returns an empty Core that stands at tick now.
func NewCore[T any](now uint64) *Core[T] {
	c := &Core[T]{nodes: newTable()}
	c.ticks = newHierarchy(&c.nodes, min(now, maxTick-1), 0, 0)
	return c
}

// Add sets a timer that carries v for tick when, and returns its ID. A tick at or before now is due at once: the next
// Advance fires it, in the order of the ticks. One before now costs O(log n) of those. Zero is returned, and nothing
// added, only when 2^28 timers are pending.
func (c *Core[T]) Add(when uint64, v T) ID {
	when = min(when, maxTick)
	index, n, generation := c.nodes.take()
	if n == nil {
		return 0
	}
	c.values.put(index, v)
	c.ticks.add(index, n, generation, when)
	return makeID(0, generation, index)
}

// Reset moves a pending timer to tick when, earlier or later. It returns false, and does nothing, if the timer has
// fired or was removed.
func (c *Core[T]) Reset(id ID, when uint64) bool {
	n := c.node(id)
	if n == nil {
		return false
	}
	c.ticks.reset(id.index(), n, min(when, maxTick), true)
	return true
}

// Remove ends a pending timer and hands its value back. It returns false if the timer has fired or was removed.
func (c *Core[T]) Remove(id ID) (v T, ok bool) {
	n := c.node(id)
	if n == nil {
		return v, false
	}
	index := id.index()
	v = c.values.take(index)
	c.ticks.forget(index, n, n.end())
	c.free(index)
	return v, true
}

// Next returns the tick with which Advance should be called next: the start of the next busy slot. Before it nothing is
// due. It is never later than the earliest deadline, and often earlier if that is far; then Advance fires nothing, and
// Next is later. It is the tick where the Core stands if something is due already. It returns false if no timer is
// pending.
func (c *Core[T]) Next() (tick uint64, ok bool) { return c.ticks.next() }

// Advance moves to tick now and calls fire for the timers that are due, in the order of their ticks, but for at most
// limit of them; it returns for how many. Fewer than limit means that nothing is due any more. A now before the tick
// where the Core stands counts as that. If more were due, the next call goes on where this one stopped. What was set
// for the past fires in the order of its ticks too, before what is due now; timers of one tick are in no particular
// order.
//
// A timer has ended when fire is called for it. fire may call Add, Reset, Remove, Next and Len, but not Advance; a timer
// that it adds at or before the current tick is fired in the same call, in its order among those that are still to fire.
func (c *Core[T]) Advance(now uint64, limit int, fire func(ID, T)) (fired int) {
	now = min(now, maxTick-1)
	for fired < limit {
		budget := 1 << 30
		index, _, ok := c.ticks.claim(now, &budget)
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

// node returns the node of a pending timer of this Core.
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
