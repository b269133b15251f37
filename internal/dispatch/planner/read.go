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
func (pl *Planner) survey(now task.Millis, heads []task.LaneHead) {
	for _, h := range heads {
		l := pl.lanes[h.Lane]
		if l == nil {
			if l = pl.open(h.Lane, now); l == nil {
				continue
			}
		}
		if h.Due <= l.cursor.Due && h.Due < l.earliest() {
			l.scan, l.scanned = true, task.Position{}
		}
		if l.scan || pl.needsMore(l, now) {
			pl.requestRead(l, h.Due)
		}
	}
}

// needsMore reports whether l is to be read on from its cursor: while it is
// behind, whenever half of its room is empty, and otherwise when half of the
// window has passed.
func (pl *Planner) needsMore(l *lane, now task.Millis) bool {
	if l.behind {
		return pl.room(l) > l.order.len()/2
	}
	return l.cursor.Due <= now.Add(pl.config.Window/2)
}

// requestRead puts l, which may have a task due at an instant, into the line of its
// namespace. The lane that has waited longest is first: since that instant, or since
// it was read last.
func (pl *Planner) requestRead(l *lane, due task.Millis) {
	if l.needsRead {
		return
	}
	t := l.queue.namespace
	if t.readQueue.len() == 0 {
		pl.readTurns = append(pl.readTurns, t)
	}
	l.needsRead, l.readSince, l.asked = true, max(due, l.read), pl.next()
	t.readQueue.push(l)
}

// nextToRead takes the lane out of the lines that is read next. Namespaces take
// turns, lane by lane: however many lanes one of them has, the first of another is
// in the next Peek.
func (pl *Planner) nextToRead(now task.Millis) *lane {
	t := pl.readTurns[0]
	pl.readTurns[0] = nil
	pl.readTurns = pl.readTurns[1:]
	l := t.readQueue.min()
	t.readQueue.remove(l)
	if t.readQueue.len() > 0 {
		pl.readTurns = append(pl.readTurns, t)
	}
	l.needsRead, l.read = false, now
	return l
}

// Reads returns the reads that are wanted now, at most what one Peek may bring;
// none: nothing is wanted. AbsorbReads must be called with them before the next Reads.
func (pl *Planner) Reads(now task.Millis) []Read {
	for k, answered := range pl.taken { // no read is under way: what sees it waiting from now on is right
		if answered {
			delete(pl.taken, k)
		}
	}
	var reads []Read
	budget, horizon := peekChunk, now.Add(pl.config.Window)
	for len(pl.readTurns) > 0 && budget > 0 {
		l := pl.nextToRead(now)
		if l.scan {
			reads = append(reads, pl.request(l, true, l.scanned, min(l.cursor.Due, horizon), scanChunk))
			budget -= scanChunk
		}
		chunk := firstChunk
		if l.behind {
			chunk = farChunk
		}
		if limit := min(pl.room(l), chunk); limit > 0 && pl.needsMore(l, now) {
			reads = append(reads, pl.request(l, false, l.cursor, horizon, limit))
			budget -= limit
			l.reading = true
		}
	}
	return reads
}

func (pl *Planner) request(l *lane, scan bool, after task.Position, until task.Millis, limit int) Read {
	return Read{
		LaneRead: task.LaneRead{Lane: l.name, After: after, Until: until, Limit: limit},
		lane:     l, scan: scan, seq: pl.seq,
	}
}

// AbsorbReads takes in what reads have found. found is nil where they
// failed: they are wanted again at the next survey.
func (pl *Planner) AbsorbReads(now task.Millis, reads []Read, found [][]task.Entry) {
	for i, r := range reads {
		switch {
		case pl.depth(r.lane) == 0: // its queue was held meanwhile
			continue
		case found == nil:
			r.lane.scan = false
		case r.scan:
			pl.absorbScan(r, found[i])
		default:
			pl.absorbFar(now, r, found[i])
		}
		pl.place(r.lane, now)
	}
	for _, r := range reads {
		r.lane.reading = false
	}
	pl.recall(now)
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
func (pl *Planner) remind(l *lane, e task.Entry) {
	if t := l.queue.namespace; l.reading && l.known[e.Name] == nil && t.heard < peekChunk {
		t.heard++
		pl.heard = append(pl.heard, heard{e, pl.seq})
	}
}

// recall takes in, after a read, what hints told meanwhile. What lies in a part that is
// still left will be seen by the next read.
func (pl *Planner) recall(now task.Millis) {
	kept := pl.heard
	pl.heard = nil
	for _, h := range kept {
		if t := pl.namespaces[h.Lane.Namespace]; t != nil {
			t.heard = 0
		}
		l := pl.lanes[h.Lane]
		if _, old := pl.taken[h.Key()]; l != nil && !old && l.known[h.Name] == nil && pl.depth(l) > 0 {
			pl.learn(l, h.Entry, h.seq)
			pl.place(l, now)
		}
	}
}

// saw takes in one entry of a read, and reports whether it is news.
func (pl *Planner) saw(r Read, e task.Entry) bool {
	_, old := pl.taken[e.Key()]
	return !old && pl.learn(r.lane, e, r.seq)
}

func (pl *Planner) absorbScan(r Read, found []task.Entry) {
	l, news := r.lane, 0
	for _, e := range found {
		if pl.saw(r, e) {
			news++
		}
	}
	l.scan = news > 0 && len(found) == r.Limit
	if l.scan {
		l.scanned = found[len(found)-1].Position()
		pl.requestRead(l, l.scanned.Due)
	}
}

func (pl *Planner) absorbFar(now task.Millis, r Read, found []task.Entry) {
	l := r.lane
	if l.cursor != r.After { // tasks were shed meanwhile
		return
	}
	full := len(found) == r.Limit
	l.behind = false // what was found is not left for later
	l.cursor = task.Position{Due: r.Until + 1}
	for _, e := range found {
		pl.saw(r, e)
	}
	if l.behind { // shed again
		return
	}
	if full {
		l.behind, l.cursor = true, found[len(found)-1].Position()
	}
	if full && !pl.needsMore(l, now) { // hints have filled the room with what is later: the earliest come first
		pl.gone(l, l.trim(l.cursor))
	}
	if full && pl.needsMore(l, now) {
		pl.requestRead(l, l.next())
	}
}
