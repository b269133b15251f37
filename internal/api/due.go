package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/api/rings"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

const maxSteps = 1000

var (
	ringsParam    = param{name: "rings", about: "The number of rings; 5 by default. Each has 64 slots. A slot of the first ring is 64ms long, and a slot of each other ring as long as the ring before it.", format: "integer", low: 1, high: rings.MaxRings}
	dueUntilParam = param{name: "until", about: "With step, and without rings: one ring that covers this time from now on.", format: duration}
	stepParam     = param{name: "step", about: "The length of a slot, in whole milliseconds; at most 1000 steps until the end.", format: duration}
	byParam       = param{name: "by", about: "queue: also show the counts of each of the 20 largest queues.", enum: []string{"queue"}}
)

// dueQuery selects a sample of what comes due, which all callers with the same
// query share.
type dueQuery struct {
	view
	since   task.Millis // the creation of the namespace, for a token of the namespace
	queue   string
	byQueue bool

	rings int         // 0: a timeline
	step  task.Millis // of a timeline
	steps int
}

func (s *Server) due(w http.ResponseWriter, r *request) error {
	q := dueQuery{
		view: view{r.oneOrAll(), r.operator}, since: r.since(), queue: r.query.Get("queue"), byQueue: r.query.Has("by"), rings: r.query.number(ringsParam, rings.MaxRings),
	}
	if err := q.readTimeline(r); err != nil {
		return err
	}
	share := 20 // the multiple of its cost for which a sample is used
	if s.nodes != nil {
		share = 50 // a shared store works for all nodes
	}
	body, err := s.dueSamples.take(r.Context(), q, share, func() ([]byte, error) { return s.countDue(r, q) })
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(body) // no reply is possible if the client is gone
	return nil
}

func (q *dueQuery) readTimeline(r *request) error {
	until, step := r.query.span(dueUntilParam, 0), r.query.span(stepParam, 0)
	switch timed, stepped := r.query.Has("until"), r.query.Has("step"); {
	case !timed && !stepped:
		return nil
	case r.query.Has("rings"):
		return refuse("bad_parameter", "rings", "a request has either rings, or until and step")
	case !timed:
		return refuse("bad_parameter", "until", "until and step need each other")
	case !stepped:
		return refuse("bad_parameter", "step", "until and step need each other")
	case step < time.Millisecond || step%time.Millisecond != 0:
		return refuse("out_of_range", "step", "must be at least 1ms, in whole milliseconds")
	case until < step:
		return refuse("out_of_range", "until", "must not be shorter than step")
	case (until-1)/step >= maxSteps:
		return refuse("out_of_range", "step", "must be at least a "+strconv.Itoa(maxSteps)+"th part of until")
	}
	q.rings, q.step, q.steps = 0, task.Millis(step/time.Millisecond), int((until-1)/step)+1
	return nil
}

func (q *dueQuery) ringsAt(now task.Millis) []rings.Ring {
	if q.rings > 0 {
		return rings.Wheel(now, q.rings)
	}
	return []rings.Ring{rings.New(now, q.step, q.steps)}
}

// The largest number of index entries that one sample examines. A shared store
// counts long lanes without an examination of their entries.
const dueBudget, sharedDueBudget = 2_000_000, 500_000

func (s *Server) countDue(r *request, q dueQuery) (body []byte, err error) {
	count := func() error {
		shown, err := s.sampleDue(r, q)
		if err != nil {
			return err
		}
		body, err = encode(shown)
		return err
	}
	if s.nodes == nil {
		err = s.gate.Turn(r.Context(), count)
		return body, err
	}
	select { // the servers of the store do the work, and no list must wait for that
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
		err = count()
	case <-r.Context().Done():
		err = r.Context().Err()
	}
	return body, err
}

// sampleDue counts the tasks of a query, and must be called in a turn.
func (s *Server) sampleDue(r *request, q dueQuery) (*wire.Due, error) {
	now, current := task.FloorMillis(s.cfg.Now()), s.store.Standing().Settings
	counters := rings.NewCounters(now, q.ringsAt(now), q.byQueue)
	read := store.DueRead{Namespace: q.namespace, Queue: q.queue, Bounds: counters.Bounds, Budget: dueBudget}
	if s.nodes != nil {
		read.Budget = sharedDueBudget
	}
	var last task.Lane // a store reports many intervals of one lane
	held := false
	exact, err := s.store.Store.Due(r.Context(), read, func(l task.Lane, interval, tasks int) {
		if l != last {
			last, held = l, current.Hold(l, now) != settings.NotHeld
		}
		counters.Add(task.QueueKey{Namespace: l.Namespace, Queue: l.Queue}, held, interval, tasks)
	})
	if err != nil {
		return nil, err
	}
	queues, err := s.store.Store.Counts(r.Context())
	if err != nil {
		return nil, err
	}
	var scheduled int64
	for key, n := range queues {
		if read.Selects(task.Lane{Namespace: key.Namespace, Queue: key.Queue}) {
			scheduled += n.States[task.Scheduled]
		}
	}
	counts := counters.Counts(exact)
	shown := showDue(now, scheduled, counts)
	if exact < read.End() {
		shown.ExactUntil = showTime(counts.Exact)
	}
	if q.operator && s.cfg.Engine != nil {
		timers, until := s.cfg.Engine.Near()
		shown.Timers, shown.NearUntil = timers, showTime(until)
	}
	return shown, nil
}

// showDue returns counts as JSON. scheduled was counted a moment later than c.
func showDue(now task.Millis, scheduled int64, c rings.Counts) *wire.Due {
	scheduled = max(scheduled, c.Overdue+c.Future)
	shown := &wire.Due{
		Time: showTime(now), Scheduled: scheduled, Overdue: c.Overdue, Later: scheduled - c.Overdue - c.Future, Rings: make([]wire.DueRing, len(c.Rings)),
	}
	for i, r := range c.Rings {
		ring := wire.DueRing{Slot: timespan.Text(time.Duration(r.Slot) * time.Millisecond), From: showTime(r.From), Counts: r.All, Held: r.Held}
		for _, q := range r.Queues {
			ring.Queues = append(ring.Queues, wire.DueQueue{Namespace: q.Namespace, Queue: q.Queue, Counts: q.Slots})
		}
		shown.Rings[i] = ring
	}
	return shown
}
