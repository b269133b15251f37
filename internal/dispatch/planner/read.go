package planner

import (
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Read is a part of a lane that must be read.
type Read struct {
	store.LaneRead
	lane *lane
	scan bool
	seq  uint64 // Planner.seq at the start of the read: tasks with a larger seq are newer than its result
}

// survey compares the known tasks with the heads of lanes in the store. It
// requests the reads that are necessary. Reads returns them.
//
// This finds tasks whose hint was lost, for the following reason. The head of a
// lane in the store is never later than the lane's earliest task. Known tasks
// that are due before the lost task leave the lane: their claims are granted,
// or refused because they had changed. Some of them may have to wait for their
// turn first. Once they are gone, the head is earlier than all known tasks, so
// the survey reads the lane again and finds the lost task.
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

// needsMore reports whether l must be read further from its cursor. If l is
// behind, it must be read when half of its room is empty, and otherwise when
// half of the window has passed.
func (pl *Planner) needsMore(l *lane, now task.Millis) bool {
	if l.behind {
		return pl.room(l) > l.order.len()/2
	}
	return l.cursor.Due <= now.Add(pl.config.Window/2)
}

// requestRead adds l to its namespace's queue of lanes to read. due is the
// earliest time at which a task of l can be due. The lane that has waited
// longest is read first. Its wait begins at due, or at its last read, if that
// was later.
func (pl *Planner) requestRead(l *lane, due task.Millis) {
	if l.needsRead {
		return
	}
	t := l.queue.namespace
	if t.readQueue.len() == 0 {
		pl.namespacesToRead = append(pl.namespacesToRead, t)
	}
	l.needsRead, l.readSince, l.readNumber = true, max(due, l.read), pl.next()
	t.readQueue.push(l)
}

// nextToRead removes and returns the lane to read next. Namespaces take turns,
// lane by lane. So even if one namespace has very many lanes, the first lane of
// another namespace is in the next Peek.
func (pl *Planner) nextToRead(now task.Millis) *lane {
	t := pl.namespacesToRead[0]
	pl.namespacesToRead[0] = nil
	pl.namespacesToRead = pl.namespacesToRead[1:]
	l := t.readQueue.min()
	t.readQueue.remove(l)
	if t.readQueue.len() > 0 {
		pl.namespacesToRead = append(pl.namespacesToRead, t)
	}
	l.needsRead, l.read = false, now
	return l
}

// Reads returns the reads that are needed now, at most one Peek's worth. The
// result is empty if no read is needed. AbsorbReads must be called with the
// result before the next call of Reads.
func (pl *Planner) Reads(now task.Millis) []Read {
	for k, answered := range pl.taken { // no read is under way, so later reads see the effect of the claim
		if answered {
			delete(pl.taken, k)
		}
	}
	var reads []Read
	budget, horizon := peekChunk, now.Add(pl.config.Window)
	for len(pl.namespacesToRead) > 0 && budget > 0 {
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
		LaneRead: store.LaneRead{Lane: l.name, After: after, Until: until, Limit: limit},
		lane:     l, scan: scan, seq: pl.seq,
	}
}

// AbsorbReads applies the results of reads. found is nil if the reads failed:
// the next survey requests them again.
func (pl *Planner) AbsorbReads(now task.Millis, reads []Read, found [][]task.Entry) {
	for i, r := range reads {
		switch {
		case pl.depth(r.lane) == 0: // its queue was held during the read
			continue
		case found == nil:
			r.lane.scan = false
		case r.scan:
			pl.forgetMissing(r, found[i])
			pl.absorbScan(r, found[i])
		default:
			pl.absorbFar(now, r, found[i])
		}
		pl.place(r.lane, now)
	}
	for _, r := range reads {
		r.lane.reading = false
	}
	pl.applyKeptHints(now)
}

// keptHint is a hint that came while its lane was being read further.
type keptHint struct {
	task.Entry
	seq uint64
}

// keepHint stores a hint for an unknown task of a lane that is being read. The
// read may have started before the task existed, and only the next poll would
// find the task. Without kept hints, many tasks were late by one poll when a
// burst came into a lane that is read in parts. At most one Peek's worth of
// hints is kept for each namespace.
func (pl *Planner) keepHint(l *lane, e task.Entry) {
	if t := l.queue.namespace; l.reading && l.known[e.Name] == nil && t.keptHints < peekChunk {
		t.keptHints++
		pl.keptHints = append(pl.keptHints, keptHint{e, pl.seq})
	}
}

// applyKeptHints applies the hints that came during a read. If a task is in a
// part that is still left, the next read finds it.
func (pl *Planner) applyKeptHints(now task.Millis) {
	kept := pl.keptHints
	pl.keptHints = nil
	for _, h := range kept {
		if t := pl.namespaces[h.Lane.Namespace]; t != nil {
			t.keptHints = 0
		}
		l := pl.lanes[h.Lane]
		if _, old := pl.taken[h.Key()]; l != nil && !old && l.known[h.Name] == nil && pl.depth(l) > 0 {
			pl.applyEntry(l, h.Entry, h.seq)
			pl.place(l, now)
		}
	}
}

// absorbEntry applies one entry of a read. It reports whether the known tasks
// changed.
func (pl *Planner) absorbEntry(r Read, e task.Entry) bool {
	_, old := pl.taken[e.Key()]
	return !old && pl.applyEntry(r.lane, e, r.seq)
}

// forgetMissing forgets known tasks that a scan would have found if they still
// waited. It does nothing if this process runs the tasks of the lane: then a
// refused claim has the same effect.
func (pl *Planner) forgetMissing(r Read, found []task.Entry) {
	l := r.lane
	if l.destination.runs {
		return
	}
	end := task.Position{Due: r.Until + 1}
	if len(found) == r.Limit {
		end = found[len(found)-1].Position()
	}
	waits := map[string]bool{}
	for _, e := range found {
		waits[e.Name] = true
	}
	for name, it := range l.known {
		if p := it.position(); !waits[name] && it.seq <= r.seq && r.After.Less(p) && p.Less(end) {
			pl.forget(l, it)
		}
	}
}

func (pl *Planner) absorbScan(r Read, found []task.Entry) {
	l, news := r.lane, 0
	for _, e := range found {
		if pl.absorbEntry(r, e) {
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
	if l.cursor != r.After { // tasks were dropped during the read
		return
	}
	full := len(found) == r.Limit
	l.behind = false // tasks that the read found are not left for later
	l.cursor = task.Position{Due: r.Until + 1}
	for _, e := range found {
		pl.absorbEntry(r, e)
	}
	if l.behind { // tasks were dropped again
		return
	}
	if full {
		l.behind, l.cursor = true, found[len(found)-1].Position()
	}
	// Hints of later tasks have filled the room: the earliest tasks come first.
	if full && !pl.needsMore(l, now) {
		pl.countForgotten(l, l.trim(l.cursor))
	}
	if full && pl.needsMore(l, now) {
		pl.requestRead(l, l.next())
	}
}
