package planner

import (
	"math"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// Every lane is allowed to keep reserve tasks, even if the window is full.
	// Otherwise lanes of hanging receivers would stop the reads of all other
	// lanes. In a namespace with very many lanes, each lane keeps only
	// leastReserve tasks, because the lanes could otherwise fill the memory.
	reserve, leastReserve = 32, 4
	// farChunk and scanChunk bound one read of one lane. firstChunk bounds the
	// read that shows whether a lane has many tasks, because most lanes of a
	// namespace with many hosts have only one or two. If that read took 512
	// tasks, one call of store.Peek would serve only four lanes.
	farChunk, scanChunk, firstChunk = 512, 64, 8
	// peekChunk bounds the tasks of one Peek, because its result is handled
	// under the lock.
	peekChunk = 2048
)

// window decides which tasks are read ahead, and holds those that are known.
//
// A lane accepts a task only while it has fewer tasks than the window has free
// places, so one lane uses at most half of the window. If k lanes are full,
// each uses 1/(k+1) of the window, and 1/(k+1) stays free for the next lane. A
// namespace can use the whole window while the other namespaces do not need it.
// It always has its share, regardless of the tasks of the other namespaces: see
// room.
type window struct {
	span    time.Duration // how far ahead tasks are read
	tasks   int           // about how many tasks are kept at most
	total   int           // number of known tasks
	holders int           // number of namespaces with known tasks
	seq     uint64        // counts changes of the known tasks
	// taken holds picked tasks, which a read can still report as waiting. The
	// value becomes true when the store has answered the claim.
	taken map[task.Key]bool

	toRead    []*namespace // namespaces with lanes to read, in round-robin order
	requests  uint64       // number of requestRead so far
	keptHints []keptHint   // hints of unknown tasks in lanes that are being read

	rounds      []*namespace // namespaces with a survey under way, in round-robin order: see round
	polls       uint64       // counts BeginRounds
	checked     task.Millis  // when rounds were begun last
	needsSurvey bool         // a survey is needed: lanes that were held can be read again
}

// apply applies an entry that was read or hinted at seq. It reports whether the
// known tasks changed.
func (w *window) apply(l *lane, e task.Entry, seq uint64) bool {
	if it := l.known[e.Name]; it != nil {
		return w.correct(l, it, e.Due, seq)
	}
	if l.skips(e.Position()) || w.depth(l) == 0 {
		return false
	}
	if w.room(l) < 1 {
		w.count(l, -l.truncate((l.order.len()+1)/2))
		if l.skips(e.Position()) {
			return false
		}
	}
	it := &item{name: e.Name, due: e.Due, seq: seq}
	l.known[e.Name] = it
	l.order.push(it)
	w.count(l, 1)
	return true
}

// correct changes the due time of a known task.
func (w *window) correct(l *lane, it *item, due task.Millis, seq uint64) bool {
	if it.seq > seq {
		return false
	}
	it.seq = seq
	if it.due == due {
		return false
	}
	it.due = due
	if l.skips(it.position()) {
		w.forget(l, it)
		return true
	}
	l.order.fix(it)
	return true
}

func (w *window) forget(l *lane, it *item) {
	l.order.remove(it)
	delete(l.known, it.name)
	w.count(l, -1)
}

// takeFirst removes the first task of l. Until the store has answered, reads
// can still report it.
func (w *window) takeFirst(l *lane) *item {
	it := l.order.min()
	w.forget(l, it)
	w.taken[task.Key{Namespace: l.name.Namespace, Name: it.name}] = false
	return it
}

// Answered records that the store has replied to the claim of a picked task, or
// to the fire of a schedule. Answered ends the time in which reads ignore the
// task, because reads that begin later see the effect. It does nothing for a
// schedule that was fired before it was due.
func (pl *Planner) Answered(k task.Key) {
	if _, taken := pl.window.taken[k]; taken {
		pl.window.taken[k] = true
	}
}

// count adds n to the number of known tasks of l.
func (w *window) count(l *lane, n int) {
	ns := l.queue.namespace
	if n > 0 && ns.known == 0 {
		w.holders++
	}
	ns.known += n
	w.total += n
	if n < 0 && ns.known == 0 {
		w.holders--
	}
}

// depth limits the tasks of l that are kept, independently of the free room. A
// queue with a rate gets a limit, because it can start only so many tasks
// during a window.
func (w *window) depth(l *lane) int {
	switch q := l.queue; {
	case q.holds(l.name.Priority):
		return 0
	case l.destination.breaker.open, !l.destination.runs:
		return reserve
	case q.bucket.limited():
		return reserve + int(min(q.settings.Rate*w.span.Seconds(), float64(w.tasks)))
	}
	return math.MaxInt
}

// room returns how many more tasks l is allowed to keep.
//
// While the window is full, a namespace above its share keeps no new tasks
// beyond the reserve of its lanes, until enough of its tasks have started.
// Meanwhile the other namespaces can fill their shares, so for a while the
// window can hold up to twice its size.
func (w *window) room(l *lane) int {
	n, depth := l.order.len(), w.depth(l)
	if depth == 0 {
		return 0
	}
	ns := l.queue.namespace
	free := max(w.tasks-w.total, w.tasks/max(w.holders, 1)-ns.known)
	kept := min(reserve, max(2*w.tasks/max(len(ns.lanes), 1), leastReserve))
	return max(min((free-n)/2, depth-n), kept-n, 0)
}

// refit drops tasks of l that are too many, because its depth may have changed,
// and requests a read if there is room for more.
func (w *window) refit(l *lane, now task.Millis) {
	switch depth := w.depth(l); {
	case depth == 0:
		w.count(l, -l.clear())
		return
	case l.order.len() > depth:
		w.count(l, -l.truncate(depth))
	}
	if l.behind && w.needsMore(l, now) {
		w.requestRead(l, l.next())
	}
}

// shorten moves the cursor of l back after the wall clock has stepped back,
// because hints beyond the new end were ignored.
func (w *window) shorten(l *lane, now task.Millis) {
	end := task.Position{Due: now.Add(w.span) + 1}
	if end.Less(l.cursor) {
		l.cursor = end
	}
	w.count(l, -l.trim(end))
	l.served, l.read = min(l.served, now), min(l.read, now)
}

// needsMore reports whether l must be read further from its cursor. If l is
// behind, it must be read when half of its room is empty, and otherwise when
// half of the window has passed.
func (w *window) needsMore(l *lane, now task.Millis) bool {
	if l.behind {
		return w.room(l) > l.order.len()/2
	}
	return l.cursor.Due <= now.Add(w.span/2)
}

// compare compares l with its head in the store, and requests the reads that
// are necessary. Reads returns them.
//
// So compare finds a task whose hint was lost. Until then the store's head can
// equal a known task that is due earlier. Such a task leaves the lane when its
// claim is granted, or refused because it had changed, perhaps after a wait for
// its turn. When all of them have left, the head is earlier than all known
// tasks, and compare reads the lane again.
func (w *window) compare(l *lane, head, now task.Millis) {
	if head <= l.cursor.Due && head < l.earliest() {
		l.scan, l.scanned = true, task.Position{}
	}
	if l.scan || w.needsMore(l, now) {
		w.requestRead(l, head)
	}
}

// requestRead adds l to its namespace's queue of lanes to read. due is the
// earliest time at which a task of l can be due. The lane that has waited
// longest is read first. Its wait begins at due or at its last read, whichever
// is later.
func (w *window) requestRead(l *lane, due task.Millis) {
	if l.needsRead {
		return
	}
	ns := l.queue.namespace
	if ns.readQueue.len() == 0 {
		w.toRead = append(w.toRead, ns)
	}
	w.requests++
	l.needsRead, l.readSince, l.readNumber = true, max(due, l.read), w.requests
	ns.readQueue.push(l)
}

// nextToRead removes and returns the lane to read next. Namespaces take turns,
// lane by lane, so even if one namespace has very many lanes, the first lane of
// another is in the next Peek.
func (w *window) nextToRead(now task.Millis) *lane {
	ns := pop(&w.toRead)
	l := ns.readQueue.min()
	ns.readQueue.remove(l)
	if ns.readQueue.len() > 0 {
		w.toRead = append(w.toRead, ns)
	}
	l.needsRead, l.read = false, now
	return l
}

// pop removes and returns the first element of a list.
func pop[T any](list *[]T) T {
	var none T
	first := (*list)[0]
	(*list)[0] = none
	*list = (*list)[1:]
	return first
}
