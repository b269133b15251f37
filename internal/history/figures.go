package history

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// The numbers of Figures.
const (
	Delivered   = iota // attempts that delivered their task
	Failed             // attempts
	Snoozed            // the receiver asked for a later attempt
	Refused            // 410, Foliot-No-Retry, or denied by the egress guard
	Interrupted        // stopped with the server
	LostLeases         // the lease was lost, so the task is sent again
	Dead               // tasks that died
	Created            // tasks, also those of schedules
	Cancelled          // tasks
	late               // the first bucket of the attempts by their lateness
)

// LateBounds are the upper bounds of the buckets of lateness, in milliseconds, but the
// last bucket has no bound.
var LateBounds = [...]int64{1, 2, 5, 10, 20, 50, 100, 200, 1000, 5000, 60_000}

const buckets = len(LateBounds) + 1

// Figures count the events of some time.
type Figures [late + buckets]uint64

// Late returns the numbers of attempts by LateBounds.
func (f *Figures) Late() []uint64 { return f[late:] }

// Attempts returns the number of attempts.
func (f *Figures) Attempts() (n uint64) {
	for _, in := range f.Late() {
		n += in
	}
	return n
}

// Over returns the number of attempts that were later than a bound of LateBounds.
func (f *Figures) Over(ms int64) (n uint64) {
	for i, bound := range LateBounds {
		if bound >= ms {
			n += f[late+i+1]
		}
	}
	return n
}

// Within returns the smallest of LateBounds that a share of the attempts did not exceed,
// or 0 if there is none.
func (f *Figures) Within(share float64) int64 {
	n, least := uint64(0), share*float64(f.Attempts())
	for i, bound := range LateBounds {
		if n += f[late+i]; n > 0 && float64(n) >= least {
			return bound
		}
	}
	return 0
}

// add adds the events of o.
func (f *Figures) add(o *Figures) {
	for i, n := range o {
		f[i] += n
	}
}

// numberOf returns the number that counts an attempt. after is the task after it, or nil if the
// lease was lost.
func numberOf(v task.Verdict, after *task.Task) int {
	switch {
	case after == nil:
		return LostLeases
	case v == task.Success:
		return Delivered
	case v == task.Snooze:
		return Snoozed
	case v == task.Refusal:
		return Refused
	case v == task.Interrupted:
		return Interrupted
	}
	return Failed
}

func bucket(d time.Duration) int {
	for i, bound := range LateBounds {
		if d <= time.Duration(bound)*time.Millisecond {
			return i
		}
	}
	return buckets - 1
}

// byQueue has the events of each queue. A key without a queue stands for the other
// queues of its namespace, and the empty key for other namespaces.
type byQueue map[task.QueueKey]*Figures

func (b byQueue) of(k task.QueueKey) *Figures {
	f := b[k]
	if f == nil {
		f = &Figures{}
		b[k] = f
	}
	return f
}

// The number of queues that a part has by themselves, and of all its keys.
const (
	maxQueues = 64
	maxKeys   = 1000
)

// trim returns b with at most maxQueues queues, those with the highest rank. The others
// are added to their namespaces, and the rest of too many namespaces to the empty key.
func (b byQueue) trim(rank func(task.QueueKey) uint64) byQueue {
	if len(b) <= maxQueues {
		return b
	}
	order := slices.SortedFunc(maps.Keys(b), func(x, y task.QueueKey) int {
		return cmp.Or(cmp.Compare(rank(y), rank(x)), x.Compare(y))
	})
	trimmed := byQueue{}
	for i, k := range order {
		from := b[k]
		if i >= maxQueues {
			k.Queue = ""
		}
		if len(trimmed) >= maxKeys && trimmed[k] == nil {
			k = task.QueueKey{}
		}
		trimmed.of(k).add(from)
	}
	return trimmed
}

// add adds the queues of o.
func (b byQueue) add(o byQueue) {
	for k, f := range o {
		b.of(k).add(f)
	}
}

// encode returns b as compressed bytes: the texts of each key, and its figures.
func (b byQueue) encode() []byte {
	var plain []byte
	for _, k := range slices.SortedFunc(maps.Keys(b), task.QueueKey.Compare) { // names that follow each other compress better
		for _, text := range []string{k.Namespace, k.Queue} {
			plain = append(binary.AppendUvarint(plain, uint64(len(text))), text...)
		}
		for _, n := range b[k] {
			plain = binary.AppendUvarint(plain, n)
		}
	}
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression) // the level is valid
	_, _ = w.Write(plain)                                   // a Buffer does not fail
	_ = w.Close()
	return out.Bytes()
}

// inflaters has readers that are used again, because each has about 40 KB.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

var errDamaged = errors.New("the figures of the history are damaged")

// decode returns what encode got, or an error if data is damaged.
func decode(data []byte) (byQueue, error) {
	inflater := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(inflater)
	_ = inflater.(flate.Resetter).Reset(bytes.NewReader(data), nil) // it does not fail
	plain, err := io.ReadAll(inflater)
	number := func() uint64 {
		n, size := binary.Uvarint(plain)
		if size <= 0 {
			err, size = errDamaged, len(plain)
		}
		plain = plain[size:]
		return n
	}
	text := func() string {
		n := int(min(number(), uint64(len(plain))))
		t := string(plain[:n])
		plain = plain[n:]
		return t
	}
	b := byQueue{}
	for len(plain) > 0 && err == nil {
		f := b.of(task.QueueKey{Namespace: text(), Queue: text()})
		for i := range f {
			f[i] = number()
		}
	}
	return b, err
}
