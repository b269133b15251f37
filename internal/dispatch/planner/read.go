package planner

import "github.com/foliot/foliot/internal/task"

// Read is a part of a lane that must be read.
type Read struct {
	task.LaneRead
	lane *lane
	scan bool
	seq  uint64 // what was learnt later is newer than what the read will find
}

// survey compares what is known with the lanes' heads in the store, and
// returns with the reads that follow from it waiting in Reads.
//
// This is what finds a task whose hint was missed. A lane's head is never later
// than its earliest task. So when it is due, what is known before it has been
// claimed, or refused where it was not true any more, or waits for its turn, as
// it would have to itself. Then it is the head, and earlier than all that is
// known: the next survey finds it.
func (a *Planner) survey(now task.Millis, heads []task.LaneHead) {
	for _, h := range heads {
		l := a.lanes[h.Lane]
		if l == nil {
			if l = a.open(h.Lane, now); l == nil {
				continue
			}
		}
		if h.Due <= l.cursor.Due && h.Due < l.earliest() {
			l.scan, l.scanned = true, task.Position{}
		}
		if l.scan || a.needsMore(l, now) {
			a.requestRead(l, h.Due)
		}
	}
}

// needsMore reports whether l is to be read on from its cursor: while it is
// behind, whenever half of its room is empty, and otherwise when half of the
// window has passed.
func (a *Planner) needsMore(l *lane, now task.Millis) bool {
	if l.behind {
		return a.room(l) > l.order.len()/2
	}
	return l.cursor.Due <= now.Add(a.config.Window/2)
}

// requestRead puts l, which may have a task due at an instant, into the line of its
// namespace. The lane that has waited longest is first: since that instant, or since
// it was read last.
func (a *Planner) requestRead(l *lane, due task.Millis) {
	if l.needsRead {
		return
	}
	t := l.queue.namespace
	if t.readQueue.len() == 0 {
		a.readTurns = append(a.readTurns, t)
	}
	l.needsRead, l.readSince, l.asked = true, max(due, l.read), a.next()
	t.readQueue.push(l)
}

// nextToRead takes the lane out of the lines that is read next. Namespaces take
// turns, lane by lane: however many lanes one of them has, the first of another is
// in the next Peek.
func (a *Planner) nextToRead(now task.Millis) *lane {
	t := a.readTurns[0]
	a.readTurns[0] = nil
	a.readTurns = a.readTurns[1:]
	l := t.readQueue.min()
	t.readQueue.remove(l)
	if t.readQueue.len() > 0 {
		a.readTurns = append(a.readTurns, t)
	}
	l.needsRead, l.read = false, now
	return l
}

// Reads returns the reads that are wanted now, at most what one Peek may bring;
// none: nothing is wanted. AbsorbReads must be called with them before the next Reads.
func (a *Planner) Reads(now task.Millis) []Read {
	for k, answered := range a.taken { // no read is under way: what sees it waiting from now on is right
		if answered {
			delete(a.taken, k)
		}
	}
	var reads []Read
	budget, horizon := peekChunk, now.Add(a.config.Window)
	for len(a.readTurns) > 0 && budget > 0 {
		l := a.nextToRead(now)
		if l.scan {
			reads = append(reads, a.request(l, true, l.scanned, min(l.cursor.Due, horizon), scanChunk))
			budget -= scanChunk
		}
		chunk := firstChunk
		if l.behind {
			chunk = farChunk
		}
		if limit := min(a.room(l), chunk); limit > 0 && a.needsMore(l, now) {
			reads = append(reads, a.request(l, false, l.cursor, horizon, limit))
			budget -= limit
			l.reading = true
		}
	}
	return reads
}

func (a *Planner) request(l *lane, scan bool, after task.Position, until task.Millis, limit int) Read {
	return Read{
		LaneRead: task.LaneRead{Lane: l.name, After: after, Until: until, Limit: limit},
		lane:     l, scan: scan, seq: a.seq,
	}
}

// AbsorbReads takes in what reads have found. found is nil where they
// failed: they are wanted again at the next survey.
func (a *Planner) AbsorbReads(now task.Millis, reads []Read, found [][]task.Entry) {
	for i, r := range reads {
		switch {
		case a.depth(r.lane) == 0: // its queue was held meanwhile
			continue
		case found == nil:
			r.lane.scan = false
		case r.scan:
			a.absorbScan(r, found[i])
		default:
			a.absorbFar(now, r, found[i])
		}
		a.place(r.lane, now)
	}
	for _, r := range reads {
		r.lane.reading = false
	}
	a.recall(now)
}

// heard is a hint that came while its lane was being read on.
type heard struct {
	task.Entry
	seq uint64
}

// remind keeps a hint of which nothing is known because it lies in the part that was left
// for a read. If that is under way it may not see the task, which could be younger: without
// this the poll would find it, and of a burst into one lane that is read in parts many were
// a poll late. So many at most of each namespace, as one Peek may bring.
func (a *Planner) remind(l *lane, e task.Entry) {
	if t := l.queue.namespace; l.reading && l.known[e.Name] == nil && t.heard < peekChunk {
		t.heard++
		a.heard = append(a.heard, heard{e, a.seq})
	}
}

// recall takes in, after a read, what hints told meanwhile. What lies in a part that is
// still left will be seen by the next read.
func (a *Planner) recall(now task.Millis) {
	kept := a.heard
	a.heard = nil
	for _, h := range kept {
		if t := a.namespaces[h.Lane.Namespace]; t != nil {
			t.heard = 0
		}
		l := a.lanes[h.Lane]
		if _, old := a.taken[h.Key()]; l != nil && !old && l.known[h.Name] == nil && a.depth(l) > 0 {
			a.learn(l, h.Entry, h.seq)
			a.place(l, now)
		}
	}
}

// saw takes in one entry of a read, and reports whether it is news.
func (a *Planner) saw(r Read, e task.Entry) bool {
	_, old := a.taken[e.Key()]
	return !old && a.learn(r.lane, e, r.seq)
}

func (a *Planner) absorbScan(r Read, found []task.Entry) {
	l, news := r.lane, 0
	for _, e := range found {
		if a.saw(r, e) {
			news++
		}
	}
	l.scan = news > 0 && len(found) == r.Limit
	if l.scan {
		l.scanned = found[len(found)-1].Position()
		a.requestRead(l, l.scanned.Due)
	}
}

func (a *Planner) absorbFar(now task.Millis, r Read, found []task.Entry) {
	l := r.lane
	if l.cursor != r.After { // tasks were shed meanwhile
		return
	}
	full := len(found) == r.Limit
	l.behind = false // what was found is not left for later
	l.cursor = task.Position{Due: r.Until + 1}
	for _, e := range found {
		a.saw(r, e)
	}
	if l.behind { // shed again
		return
	}
	if full {
		l.behind, l.cursor = true, found[len(found)-1].Position()
	}
	if full && !a.needsMore(l, now) { // hints have filled the room with what is later: the earliest come first
		a.gone(l, l.trim(l.cursor))
	}
	if full && a.needsMore(l, now) {
		a.requestRead(l, l.next())
	}
}
