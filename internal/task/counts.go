package task

// Counts is how many records there are, by state, and how many bytes they have
// with their bodies (Task.Stored). A store keeps it for each queue, in the same atomic batch as the
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
		c.Bytes -= old.Stored()
	}
	if t != nil {
		c.States[t.State]++
		c.Bytes += t.Stored()
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

// recordBytes is about the size of a record without its texts: keys, an index entry, numbers.
const recordBytes = 256

// Stored returns about how many bytes t takes in a store, at most MaxBody. The result must be the
// same for a record that was read back, and whether or not t carries its body: the number added to
// the counts when a record comes is taken off when it goes.
func (t *Task) Stored() int64 {
	return int64(min(recordBytes+len(t.Name)+t.Request.BodySize+t.Weight()-len(t.Request.Body), MaxBody))
}

// Remains returns the part for the counts of a finished or dead task that takes so many bytes.
func Remains(k Key, queue string, state State, stored int64) *Task {
	t := &Task{Namespace: k.Namespace, Name: k.Name, Queue: queue, State: state}
	t.Request.BodySize = int(stored - t.Stored())
	return t
}
