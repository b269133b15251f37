package api

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

const (
	// maxBackfill bounds the instants of one backfill.
	maxBackfill = 1000
	// clientAhead is by how much the clock of a client that says "until now" may be ahead of ours.
	clientAhead = time.Minute
)

func (s *Server) backfillSchedule(w http.ResponseWriter, r *request) error {
	t, stale, err := s.condition(r)
	if err := cmp.Or(err, stale); err != nil {
		return err
	}
	var span task.Span
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeSpan(&span) }); err != nil {
		return err
	}
	now := s.now()
	if span.Until > now.Add(clientAhead) {
		return refuse("out_of_range", "until", "a backfill makes up for what has passed: what is to come comes by itself")
	}
	instants, err := t.Recur.Instants(span.From, min(span.Until, now), maxBackfill+1)
	switch {
	case err != nil:
		return unfollowed(t, err)
	case len(instants) > maxBackfill:
		return refuse("too_many_instants", "until", fmt.Sprintf("a backfill makes at most %d tasks: let this one end at %s, and begin the next one after that",
			maxBackfill, showTime(instants[maxBackfill-1])))
	}
	reply := wire.BackfillReply{Instants: len(instants)}
	if err := s.checkCreateRate(w, r, len(instants)); err != nil {
		return &partError{err, reply}
	}
	for part := range slices.Chunk(instants, backfillPart(t)) {
		allow(w, r.Request, time.Minute)
		if err := s.backfill(r, t, span, part, &reply); err != nil {
			return &partError{err, reply}
		}
	}
	reply.Durability = s.durability(r)
	s.write(r.Context(), w, jsonType, http.StatusOK, reply)
	return nil
}

// backfillPart returns of how many instants the tasks are created at once: with no more
// bytes than a batch has.
func backfillPart(t *task.Task) int {
	const record = 1 << 10 // beside its texts
	return max(1, task.MaxBatchBytes/(t.Weight()+record))
}

// partError is why a backfill broke off, and what it had done by then.
type partError struct {
	err  error
	done wire.BackfillReply
}

func (e *partError) Unwrap() error { return e.err }
func (e *partError) Error() string { return e.about(e.err.Error()) }

// about adds to detail, which is said of err, how far the backfill came and what to do.
func (e *partError) about(detail string) string {
	least, there := "at least ", "" // what its last step did is not known
	if refusedWhole(e.err) {
		least = ""
	}
	if e.done.Existing > 0 {
		there = fmt.Sprintf(", and %d were there", e.done.Existing)
	}
	return fmt.Sprintf("%s; made %s%d of %d%s: the same from and until again, later, make the rest, and none twice", detail, least, e.done.Created, e.done.Instants, there)
}

// backfill creates the tasks of some instants, and counts them. Where one cannot be created it
// returns why, and the others are.
func (s *Server) backfill(r *request, t *task.Task, span task.Span, instants []task.Millis, count *wire.BackfillReply) error {
	if err := s.revalidate(&r.caller); err != nil {
		return err
	}
	now, trace := s.now(), s.trace(r.Request)
	changes := make([]task.Change, len(instants))
	for i, at := range instants {
		spec := t.Template(backfilledName(t, at, span), task.NewID(now), now)
		spec.Trace = trace
		changes[i] = task.Create{Spec: spec}
	}
	replies, err := s.store.Apply(r.Context(), now, changes)
	if err != nil {
		return err
	}
	r.reached(replies)
	for _, reply := range replies {
		switch {
		case reply.Err == nil:
			count.Created++
		case errors.Is(reply.Err, task.ErrExists):
			count.Existing++
		case err == nil:
			err = reply.Err
		}
	}
	return err
}

// backfilledName returns the name of the task of an instant in a backfill.
func backfilledName(t *task.Task, at task.Millis, span task.Span) string {
	text := func(m task.Millis) []byte { return strconv.AppendInt(nil, int64(m), 10) }
	mark := task.Digest(text(span.From), text(span.Until))
	return task.OccurrenceName(t.ScheduleName(), at) + ".b" + hex.EncodeToString([]byte(mark[:4]))
}
