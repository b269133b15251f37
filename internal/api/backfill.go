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

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/wire"
)

const (
	maxBackfill = 1000
	// clientAhead is the largest tolerated lead of a client's clock over the
	// server's clock, for a client that sends the present time as until.
	clientAhead = time.Minute
)

func (s *Server) backfillSchedule(w http.ResponseWriter, r *request) error {
	t, stale, err := s.condition(r)
	if err := cmp.Or(err, stale); err != nil {
		return err
	}
	var span recurrence.Span
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeSpan(&span) }); err != nil {
		return err
	}
	now := s.now()
	if span.Until > now.Add(clientAhead) {
		return refuse("out_of_range", "until", "must not be in the future: the schedule fires future instants by itself")
	}
	instants, err := t.Recur.Instants(span.From, min(span.Until, now), maxBackfill+1)
	switch {
	case err != nil:
		return ruleError(t, err)
	case len(instants) > maxBackfill:
		last := showTime(instants[maxBackfill-1])
		err := refuse("too_many_instants", "until", fmt.Sprintf("a backfill creates at most %d tasks: end this one at %s, and start the next one after that", maxBackfill, last))
		return &factsError{err, func(p *wire.Problem) { p.Until = last }}
	}
	reply := wire.BackfillReply{Instants: len(instants)}
	if err := s.checkRate(w, r, settings.CreateRate, len(instants)); err != nil {
		return &backfillError{err, reply}
	}
	for part := range slices.Chunk(instants, backfillPart(t)) {
		allow(w, r.Request, time.Minute)
		if err = s.backfill(r, t, span, part, &reply); err != nil {
			break
		}
	}
	detail := fmt.Sprintf("from %s until %s: created %d", showTime(span.From), showTime(span.Until), reply.Created)
	if err := cmp.Or(err, s.recordMany(r, settings.ActionBackfill, t.ScheduleName(), detail, reply.Created)); err != nil {
		return &backfillError{err, reply}
	}
	reply.Durability = s.durability(r)
	return s.reply(w, r, http.StatusOK, reply)
}

// backfillPart returns the number of tasks to create at once, whose total size is
// at most that of a batch.
func backfillPart(t *task.Task) int {
	const record = 1 << 10 // bytes of a task without its texts
	return max(1, task.MaxBatchBytes/(t.Weight()+record))
}

// backfillError is the reason that a backfill ended early, with the part that was
// done.
type backfillError struct {
	err  error
	done wire.BackfillReply
}

func (e *backfillError) Unwrap() error { return e.err }
func (e *backfillError) Error() string { return e.withProgress(e.err.Error()) }

// withProgress adds the progress of the backfill and the remedy to detail.
func (e *backfillError) withProgress(detail string) string {
	least, there := "at least ", "" // the outcome of the last step is unknown
	if refusedWhole(e.err) {
		least = ""
	}
	if e.done.Existing > 0 {
		there = fmt.Sprintf(", and %d existed", e.done.Existing)
	}
	return fmt.Sprintf("%s; created %s%d of %d%s: repeat the request later with the same from and until; the repeat creates the rest, and no task twice", detail, least, e.done.Created, e.done.Instants, there)
}

// backfill creates the tasks of some instants, and counts them. If one task cannot
// be created, backfill still creates the other tasks, and returns the reason.
func (s *Server) backfill(r *request, t *task.Task, span recurrence.Span, instants []task.Millis, count *wire.BackfillReply) error {
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
	replies, err := s.store.Transit(r.Context(), now, store.Changes(changes))
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

func backfilledName(t *task.Task, at task.Millis, span recurrence.Span) string {
	text := func(m task.Millis) []byte { return strconv.AppendInt(nil, int64(m), 10) }
	mark := task.Digest(text(span.From), text(span.Until))
	return task.OccurrenceName(t.ScheduleName(), at) + ".b" + hex.EncodeToString([]byte(mark[:4]))
}
