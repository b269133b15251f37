package task

// Counts is how many records there are, by state, and how many bytes their
// bodies have. A store keeps it for each queue, in the same atomic batch as the
// records themselves, so that it is always exact.
type Counts struct {
	States [Dead + 1]int64 // by State
	Bytes  int64
}

// QueueKey names a queue.
type QueueKey struct{ Namespace, Queue string }

// Move takes in that old became t. Either may be nil: no record.
func (c *Counts) Move(old, t *Task) {
	if old != nil {
		c.States[old.State]--
		c.Bytes -= int64(old.Request.BodySize)
	}
	if t != nil {
		c.States[t.State]++
		c.Bytes += int64(t.Request.BodySize)
	}
}

// Add adds d.
func (c *Counts) Add(d Counts) {
	for i, n := range d.States {
		c.States[i] += n
	}
	c.Bytes += d.Bytes
}

// Pending returns how many tasks have an attempt before them or under way.
func (c *Counts) Pending() int64 { return c.States[Scheduled] + c.States[Running] }

// Total returns how many records there are.
func (c *Counts) Total() (n int64) {
	for _, k := range c.States {
		n += k
	}
	return n
}
