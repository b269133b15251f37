package task

import "cmp"

// Counts holds the number of records by state, and their bytes with their
// bodies (Task.Stored). A store keeps Counts for each queue in the same atomic
// batch as the records, so they are always exact.
type Counts struct {
	States [Dead + 1]int64 // by State
	Bytes  int64
}

// QueueKey names a queue.
type QueueKey struct{ Namespace, Queue string }

// Compare orders keys by namespace, then by queue.
func (k QueueKey) Compare(o QueueKey) int {
	return cmp.Or(cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Queue, o.Queue))
}

// Move updates c for the change from old to t, either of them nil for no
// record.
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

// Add adds d to c.
func (c *Counts) Add(d Counts) {
	for i, n := range d.States {
		c.States[i] += n
	}
	c.Bytes += d.Bytes
}

// Pending returns the number of tasks that are scheduled or running.
func (c *Counts) Pending() int64 { return c.States[Scheduled] + c.States[Running] }

// Total returns the number of records.
func (c *Counts) Total() (n int64) {
	for _, k := range c.States {
		n += k
	}
	return n
}

// recordBytes is the approximate size of a record without its texts: of the
// keys, an index entry and the numbers.
const recordBytes = 256

// Stored returns the approximate number of bytes that t takes in a store, at
// most MaxBody. The result must be the same for a record that was read back,
// with or without its body, because it is subtracted from the counts when the
// record is removed.
func (t *Task) Stored() int64 {
	return int64(min(recordBytes+len(t.Name)+t.Request.BodySize+t.Weight()-len(t.Request.Body), MaxBody))
}

// Remains returns a finished or dead task that has only the fields that Counts
// uses, with the given number of bytes.
func Remains(k Key, queue string, state State, stored int64) *Task {
	t := &Task{Namespace: k.Namespace, Name: k.Name, Queue: queue, State: state}
	t.Request.BodySize = int(stored - t.Stored())
	return t
}
