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
	seq  uint64 // window.seq at the start of the read: tasks with a larger seq are newer than its result
}

// Reads returns the reads that are needed now. Their limits add up to about
// peekChunk. AbsorbReads must be called with the result before the next call of
// Reads.
func (pl *Planner) Reads(now task.Millis) []Read {
	pl.refresh(now)
	return pl.window.reads(now)
}

func (w *window) reads(now task.Millis) (reads []Read) {
	for k, answered := range w.taken { // no read is under way, so later reads see the effect of the claim
		if answered {
			delete(w.taken, k)
		}
	}
	budget, horizon := peekChunk, now.Add(w.span)
	request := func(l *lane, scan bool, after task.Position, until task.Millis, limit int) {
		reads = append(reads, Read{store.LaneRead{Lane: l.name, After: after, Until: until, Limit: limit}, l, scan, w.seq})
		budget -= limit
	}
	for len(w.toRead) > 0 && budget > 0 {
		l := w.nextToRead(now)
		if l.scan {
			request(l, true, l.scanned, min(l.cursor.Due, horizon), scanChunk)
		}
		chunk := firstChunk
		if l.behind {
			chunk = farChunk
		}
		if limit := min(w.room(l), chunk); limit > 0 && w.needsMore(l, now) {
			request(l, false, l.cursor, horizon, limit)
			l.reading = true
		}
	}
	return reads
}

// AbsorbReads applies the results of reads. found is nil if the reads failed:
// the next survey requests them again.
func (pl *Planner) AbsorbReads(now task.Millis, reads []Read, found [][]task.Entry) {
	for i, r := range reads {
		switch {
		case pl.window.depth(r.lane) == 0: // its queue was held during the read
			continue
		case found == nil:
			r.lane.scan = false
		case r.scan:
			pl.window.absorbScan(r, found[i])
		default:
			pl.window.absorbFar(now, r, found[i])
		}
		pl.mark(r.lane, false)
	}
	for _, r := range reads {
		r.lane.reading = false
	}
	// Apply the hints that came during the reads. If such a task is beyond the
	// cursor, the next read finds it.
	kept := pl.window.keptHints
	pl.window.keptHints = nil
	for _, h := range kept {
		if ns := pl.namespaces[h.Lane.Namespace]; ns != nil {
			ns.keptHints = 0
		}
		l := pl.lanes[h.Lane]
		if l != nil && l.known[h.Name] == nil && pl.window.absorb(l, h.Entry, h.seq) {
			pl.mark(l, false)
		}
	}
}

// keptHint is a hint that came while its lane was being read further.
type keptHint struct {
	task.Entry
	seq uint64
}

// hint applies a hint, and keeps it if it names an unknown task of a lane that
// is being read. Without this, only the next survey would find a task that was
// created during the read, so bursts in a lane that is read in parts were late
// by one survey. At most peekChunk hints are kept for each namespace.
func (w *window) hint(l *lane, e task.Entry) {
	w.apply(l, e, w.seq)
	if ns := l.queue.namespace; l.reading && l.known[e.Name] == nil && ns.keptHints < peekChunk {
		ns.keptHints++
		w.keptHints = append(w.keptHints, keptHint{e, w.seq})
	}
}

// absorb applies one entry of a read, unless its task was picked. It reports
// whether the known tasks changed.
func (w *window) absorb(l *lane, e task.Entry, seq uint64) bool {
	_, old := w.taken[e.Key()]
	return !old && w.apply(l, e, seq)
}

// absorbScan applies the result of a scan.
func (w *window) absorbScan(r Read, found []task.Entry) {
	l, news := r.lane, 0
	if !l.destination.runs { // otherwise a refused claim has the same effect
		w.forgetMissing(r, found)
	}
	for _, e := range found {
		if w.absorb(l, e, r.seq) {
			news++
		}
	}
	l.scan = news > 0 && len(found) == r.Limit
	if l.scan {
		l.scanned = found[len(found)-1].Position()
		w.requestRead(l, l.scanned.Due)
	}
}

// forgetMissing forgets known tasks that a scan would have found if they still
// waited.
func (w *window) forgetMissing(r Read, found []task.Entry) {
	end := task.Position{Due: r.Until + 1}
	if len(found) == r.Limit {
		end = found[len(found)-1].Position()
	}
	waits := map[string]bool{}
	for _, e := range found {
		waits[e.Name] = true
	}
	for name, it := range r.lane.known {
		if p := it.position(); !waits[name] && it.seq <= r.seq && r.After.Less(p) && p.Less(end) {
			w.forget(r.lane, it)
		}
	}
}

// absorbFar applies the result of a read from the cursor.
func (w *window) absorbFar(now task.Millis, r Read, found []task.Entry) {
	l := r.lane
	if l.cursor != r.After { // tasks were dropped during the read
		return
	}
	full := len(found) == r.Limit
	l.behind = false // so that absorb does not skip the tasks that were found
	l.cursor = task.Position{Due: r.Until + 1}
	for _, e := range found {
		w.absorb(l, e, r.seq)
	}
	if l.behind || !full { // tasks were dropped again, or all were read
		return
	}
	l.behind, l.cursor = true, found[len(found)-1].Position()
	// If hints have filled the lane with later tasks, drop these, so that
	// earlier tasks can be read.
	if !w.needsMore(l, now) {
		w.count(l, -l.trim(l.cursor))
	}
	if w.needsMore(l, now) {
		w.requestRead(l, l.next())
	}
}
