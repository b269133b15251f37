package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// The lengths of the spans of parts, and how long the store keeps them.
const (
	Minute     = time.Minute
	Hour       = time.Hour
	KeepMinute = 24 * Hour
	KeepHour   = 90 * 24 * Hour
)

// Part has the figures of one span of time: of a minute and one process, or of an hour
// and all processes.
type Part struct {
	Hour   bool
	At     task.Millis // the beginning of the span
	Writer string      // the process, empty for an hour
	Data   []byte      // the figures
}

// Expired returns the time before which parts have ended their time in the store.
func Expired(hour bool, now task.Millis) task.Millis {
	if hour {
		return now.Add(-KeepHour - Hour)
	}
	return start(now.Add(-KeepMinute-Hour), Hour) // whole hours, so that a sum has all minutes
}

// Store is the part of a store that has the history.
type Store interface {
	// Remember writes parts, each in place of the one with the same span and writer.
	// If a part is of an hour, it also removes the parts that have Expired. It need not be
	// durable.
	Remember(ctx context.Context, now task.Millis, parts []Part) error

	// History returns the parts of hours, or of minutes, that begin at from or later, but
	// before until, in any order.
	History(ctx context.Context, hours bool, from, until task.Millis) ([]Part, error)
}

// Recorder counts the events of this process, in methods that many goroutines can
// call.
type Recorder struct {
	process string

	mu      sync.Mutex
	minutes []*minute                // those not yet in the store, and the present one, which is the last
	begun   int                      // minutes
	busy    map[task.QueueKey]uint64 // attempts; each hour counts half as much as the next

	flushing sync.Mutex
	summed   task.Millis // the hours before it are in the store
}

// minute has the figures of a minute.
type minute struct {
	at              task.Millis
	writer          string
	queues          byQueue
	changes, stored int // how often it was changed, and how many of these the store has
}

const (
	maxMinutes = 60     // while the store cannot be written
	maxCounted = 10_000 // queues in a minute

	sumAfter = 30 * time.Second
)

// New returns a Recorder of a process. No other process has ever had its name.
func New(process string) *Recorder {
	return &Recorder{process: process, busy: map[task.QueueKey]uint64{}}
}

// countLocked returns the figures of a queue in the present minute, which the caller
// changes.
func (r *Recorder) countLocked(now task.Millis, k task.QueueKey) *Figures {
	at, last := start(now, Minute), len(r.minutes)-1
	i := slices.IndexFunc(r.minutes, func(m *minute) bool { return m.at == at })
	if i < 0 {
		if last >= 0 && start(r.minutes[last].at, Hour) != start(at, Hour) {
			for k, n := range r.busy {
				if r.busy[k] = n / 2; n < 2 {
					delete(r.busy, k)
				}
			}
		}
		r.minutes = append(r.minutes, &minute{at: at, writer: fmt.Sprint(r.process, ".", r.begun), queues: byQueue{}})
		r.begun++ // so no minute that a clock repeats replaces the earlier part
		r.minutes = r.minutes[max(0, len(r.minutes)-maxMinutes):]
		i = len(r.minutes) - 1
	}
	m := r.minutes[i]
	m.changes++
	if len(m.queues) >= maxCounted && m.queues[k] == nil {
		k.Queue = ""
	}
	return m.queues.of(k)
}

// Attempt counts an attempt of the task claimed. after is the task after the attempt, or
// nil if the lease was lost. An attempt that sent nothing is ignored. It costs about 100 ns.
func (r *Recorder) Attempt(now task.Millis, claimed *task.Task, o *task.Outcome, after *task.Task) {
	if o.Verdict == task.Unsent {
		return
	}
	k := task.QueueKey{Namespace: claimed.Namespace, Queue: claimed.Queue}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.countLocked(now, k)
	f[late+bucket(o.Late)]++
	f[numberOf(o.Verdict, after)]++
	if _, known := r.busy[k]; known || len(r.busy) < maxCounted {
		r.busy[k]++
	}
}

// Wrote counts the change of a record from old, which may be nil, to t: a create, a cancel
// or a death. It reads the clock only if that counts.
func (r *Recorder) Wrote(clock func() task.Millis, old, t *task.Task) {
	if t == nil || t.IsSchedule() {
		return
	}
	created := old == nil || old.ID != t.ID
	cancelled, dead := t.State == task.Cancelled, t.State == task.Dead
	if !created && (!cancelled && !dead || old.State == t.State) {
		return
	}
	now := clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.countLocked(now, task.QueueKey{Namespace: t.Namespace, Queue: t.Queue})
	if created {
		f[Created]++
	}
	if cancelled {
		f[Cancelled]++
	}
	if dead {
		f[Dead]++
	}
}

// Flush writes the counts that the store does not have, and the sum of each full hour that
// may not be there. By now the history expires, so it must be a trusted time.
func (r *Recorder) Flush(ctx context.Context, s Store, now task.Millis) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	type write struct {
		*minute
		changes int
		queues  byQueue // a copy
	}
	var parts []Part
	var writes []write
	r.mu.Lock()
	busy := maps.Clone(r.busy)
	for _, m := range r.minutes {
		if m.changes > m.stored {
			queues := make(byQueue, len(m.queues))
			for k, f := range m.queues {
				queues[k] = new(*f)
			}
			writes = append(writes, write{m, m.changes, queues})
		}
	}
	r.mu.Unlock()
	for _, w := range writes {
		data := w.queues.trim(func(k task.QueueKey) uint64 { return busy[k] }).encode()
		parts = append(parts, Part{At: w.at, Writer: w.writer, Data: data})
	}
	if len(parts) > 0 {
		if err := s.Remember(ctx, now, parts); err != nil {
			return err
		}
	}
	r.mu.Lock()
	for _, w := range writes {
		w.minute.stored = w.changes
	}
	if last := len(r.minutes) - 1; last > 0 {
		r.minutes = append(slices.DeleteFunc(r.minutes[:last:last], func(m *minute) bool { return m.stored == m.changes }), r.minutes[last])
	}
	r.mu.Unlock()
	return r.sum(ctx, s, now)
}

// sum writes the sums of the full hours that have none, and that of the hour before again,
// because another process may have written a minute late.
func (r *Recorder) sum(ctx context.Context, s Store, now task.Millis) error {
	present := start(now.Add(-sumAfter), Hour) // then all processes have written its minutes
	if r.summed == present {
		return nil
	}
	whole := present.Add(Hour - KeepMinute)  // the minutes of earlier hours may have expired
	if r.summed == 0 || r.summed > present { // the last sum may be from before a long downtime
		sums, err := s.History(ctx, true, present.Add(-KeepHour), present)
		if err != nil {
			return err
		}
		r.summed = present.Add(-KeepHour)
		for _, p := range sums {
			r.summed = max(r.summed, p.At.Add(Hour))
		}
	}
	if again := r.summed.Add(-Hour); again >= whole {
		r.summed = again
	}
	minutes, err := s.History(ctx, false, r.summed, present)
	if err != nil {
		return err
	}
	hours := map[task.Millis]byQueue{}
	for _, p := range minutes {
		part, err := decode(p.Data)
		if err != nil || len(part) == 0 {
			continue
		}
		at := start(p.At, Hour)
		if hours[at] == nil {
			hours[at] = byQueue{}
		}
		hours[at].add(part)
	}
	var sums []Part // in one write, because that removes minutes, also of an hour that has no sum yet
	for at, all := range hours {
		rank := func(k task.QueueKey) uint64 { return all[k].Attempts() }
		sums = append(sums, Part{Hour: true, At: at, Data: all.trim(rank).encode()})
	}
	if len(sums) > 0 {
		if err := s.Remember(ctx, now, sums); err != nil {
			return err
		}
	}
	r.summed = present
	return nil
}

// start returns the beginning of the span of a time.
func start(at task.Millis, span time.Duration) task.Millis {
	return at - at%task.Millis(span/time.Millisecond)
}
