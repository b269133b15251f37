package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// maxHistorySteps bounds the steps of a history: those of 90 days by the hour.
const maxHistorySteps = 2200

var (
	historyFromParam  = param{name: "from", about: "The beginning: a time, or a duration from now, such as -24h; -1h by default. It is rounded down to a step."}
	historyUntilParam = param{name: "until", about: "The end: a time, or a duration from now; now by default. It is rounded up to a step."}
	historyStepParam  = param{name: "step", about: "The time of a step: a multiple of 1m if from is in the last 24 hours, or of 1h. By default 1m for at most three of the last 24 hours, otherwise 1h.", format: duration}
)

func (s *Server) history(w http.ResponseWriter, r *request) error {
	now := s.now()
	q, err := readHistory(r.query, now)
	if err != nil {
		return err
	}
	from, until := q.From, q.Until
	q.Namespace = r.oneOrAll()
	minute, step := task.Millis(history.Minute/time.Millisecond), task.Millis(q.Step/time.Millisecond)
	if since := r.since(); from < since { // the figures before the part of its creation are those of a deleted namespace
		unit := minute
		if step >= hour {
			unit = hour
		}
		q.From = since - since%unit
		from = q.From - q.From%step
	}
	q.From, q.Until = max(q.From, history.Expired(true, now)), min(until, now+minute) // without the parts of steps that cannot exist
	if s.cfg.Engine != nil {
		s.cfg.Engine.FlushHistory(r.Context())
	}
	sum, err := turn(r.Context(), s.gate, func() (history.Summary, error) { return history.Read(r.Context(), s.store, q) })
	if err != nil {
		return err
	}
	shown := wire.History{
		Step: timespan.Text(q.Step), From: showTime(from), Until: showTime(until), LateBoundsMS: history.LateBounds[:],
		Steps: make([]wire.Figures, len(sum.Steps)), Queues: make([]wire.Figures, 0, len(sum.Queues)),
	}
	for i, step := range sum.Steps {
		shown.Steps[i] = showFigures(&step.Figures)
		shown.Steps[i].At = showTime(step.At)
	}
	for _, k := range slices.SortedFunc(maps.Keys(sum.Queues), func(a, b task.QueueKey) int {
		return cmp.Or(cmp.Compare(sum.Queues[b].Attempts(), sum.Queues[a].Attempts()), a.Compare(b))
	}) {
		f := showFigures(sum.Queues[k])
		f.Namespace, f.Queue = k.Namespace, k.Queue
		shown.Queues = append(shown.Queues, f)
	}
	return s.reply(w, r, http.StatusOK, shown)
}

func readHistory(q query, now task.Millis) (h history.Query, err error) {
	h.Queue = q.Get("queue")
	if h.From, err = q.instant("from", now, now.Add(-time.Hour)); err != nil {
		return h, err
	}
	if h.Until, err = q.instant("until", now, now); err != nil {
		return h, err
	}
	const late = 10 * time.Minute // a client subtracts a day from its own clock, and the store keeps more
	h.From = max(h.From, history.Expired(true, now))
	if h.From > min(h.Until, now) {
		return h, refuse("out_of_range", "from", "must not be later than until and now")
	}
	fine := h.From >= now.Add(-history.KeepMinute-late)
	usual, unit := history.Hour, history.Hour
	if fine {
		if unit = history.Minute; h.Until <= h.From.Add(3*history.Hour+late) {
			usual = history.Minute
		}
	}
	h.Step = q.span(historyStepParam, usual)
	if h.Step > history.Hour {
		unit = history.Hour
	}
	if h.Step <= 0 || h.Step%unit != 0 || h.Step > history.KeepHour {
		return h, refuse("out_of_range", "step", "must be a multiple of "+timespan.Text(unit)+", and at most 90 days: the store keeps minutes for 24 hours, and hours for 90 days")
	}
	step := task.Millis(h.Step / time.Millisecond)
	h.From -= h.From % step
	h.Until = min(h.Until, now) + step - 1
	h.Until -= h.Until % step
	if (h.Until-h.From)/step > maxHistorySteps {
		return h, refuse("out_of_range", "step", fmt.Sprintf("the history would have more than %d steps: use a longer step, or a later from", maxHistorySteps))
	}
	return h, nil
}

func showFigures(f *history.Figures) wire.Figures {
	return wire.Figures{
		Attempts: f.Attempts(), Delivered: f[history.Delivered], Failed: f[history.Failed], Snoozed: f[history.Snoozed], Refused: f[history.Refused],
		Interrupted: f[history.Interrupted], LostLeases: f[history.LostLeases], Dead: f[history.Dead],
		Created: f[history.Created], Cancelled: f[history.Cancelled],
		Late: f.Late(), Over10: f.Over(10), Over100: f.Over(100), Over1000: f.Over(1000), P50MS: float64(f.Within(0.5)), P99MS: float64(f.Within(0.99)),
	}
}
