package verify

import (
	"bytes"
	"iter"
	"strconv"
	"time"
)

// Numbered is many tasks with names that differ only by their number: prefix-0,
// prefix-1 … For millions of tasks, use Numbered.Check, which works with
// numbers. Check works with names, for some thousands of tasks.
type Numbered struct {
	Prefix string
	Count  int
	Due    func(i int) time.Time
}

// Name returns the name of the i-th task.
func (n Numbered) Name(i int) string { return n.Prefix + "-" + strconv.Itoa(i) }

// index is the inverse of Name.
func (n Numbered) index(name []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(name, []byte(n.Prefix+"-"))
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(string(rest))
	return i, err == nil && i >= 0 && i < n.Count
}

// Between counts the arrivals of tasks from an instant up to another.
func (n Numbered) Between(arrivals iter.Seq2[Delivery, error], from, to time.Time) (count int, err error) {
	for l, err := range arrivals {
		if err != nil {
			return 0, err
		}
		if _, ours := n.index(l.Name); ours && l.At >= from.UnixNano() && l.At <= to.UnixNano() {
			count++
		}
	}
	return count, nil
}

// Before returns the tasks of n that are due before an instant. n must be in
// the order of the due times.
func (n Numbered) Before(end time.Time) Numbered {
	count := 0
	for count < n.Count && n.Due(count).Before(end) {
		count++
	}
	n.Count = count
	return n
}

// Occurrences yields the callbacks of schedules that n names, each under its schedule's name:
// only those of the first count schedules. Other callbacks keep their name, which n
// does not know.
func (n Numbered) Occurrences(lines iter.Seq2[Delivery, error], count int) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		for l, err := range lines {
			name, instant, _ := bytes.Cut(l.Name, []byte("@"))
			if i, known := n.index(name); known && string(instant) == strconv.FormatInt(n.Due(i).UnixMilli(), 10) {
				if l.Name = name; i >= count {
					continue
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// Delivery is one line of the log of a fast receiver.
type Delivery struct {
	Name, ID []byte
	At       int64 // nanoseconds since 1970
}
