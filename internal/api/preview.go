package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/wire"
)

var (
	previewParam     = param{name: "limit", about: "The maximum number of instants; 10 by default.", format: "integer", low: 1, high: maxLimit}
	previewFromParam = param{name: "from", about: "The first instant is at this time or later. Default: now.", format: "date-time"}
	daysParam        = param{name: "days", about: "Count the instants of this number of days.", format: "integer", low: 1, high: maxPreviewDays}
	absentFromParam  = param{name: "absent_from", about: "From this time until absent_until no server fires the schedule.", format: "date-time"}
	absentUntilParam = param{name: "absent_until", about: "The end of the absence.", format: "date-time"}
)

func (s *Server) previewSchedule(w http.ResponseWriter, r *request) error {
	n := r.query.number(previewParam, 10)
	t, err := s.schedule(r)
	if err != nil {
		return err
	}
	rec, from := t.Recur, s.now()
	if at, given := r.query.time("from"); given {
		from = task.CeilMillis(at)
	} else if rec.MaxRuns > 0 {
		n = int(min(int64(n), max(0, rec.MaxRuns-rec.Runs)))
	}
	instants, err := rec.Instants(from, task.Never, n)
	if err != nil {
		return ruleError(t, err)
	}
	clocks, err := rec.Clocks()
	if err != nil {
		return ruleError(t, err)
	}
	return s.reply(w, r, http.StatusOK, wire.Preview{Instants: showInstants(instants, clocks.Zone)})
}

// ruleError returns the error for a schedule whose rule yields no instants on this
// server.
func ruleError(t *task.Task, err error) error {
	return &settings.BusyError{What: "schedule", Name: t.ScheduleName(), Why: err.Error()}
}

// The bounds of a preview of a rule.
const (
	maxPreviewDays = 366
	maxDayCount    = 100 // a day with more instants counts as one with this number
	maxLatest      = 20  // instants of an absence that the reply has
)

// rulePreview is a request for the instants of a rule that is not stored.
type rulePreview struct {
	rule  recurrence.Rule
	from  task.Millis
	limit int
	days  int
	away  recurrence.Span // the absence; the zero Span means none
}

func (s *Server) previewRule(w http.ResponseWriter, r *request) error {
	now := s.now()
	p := rulePreview{rule: newRule()}
	if err := p.readQuery(r.query, now); err != nil {
		return err
	}
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeRule(&p.rule) }); err != nil {
		return err
	}
	if err := task.ValidateRule(&p.rule, now); err != nil {
		return err
	}
	p.anchor()
	reply, err := turn(r.Context(), s.gate, p.compute)
	if err != nil {
		return err
	}
	return s.reply(w, r, http.StatusOK, reply)
}

func (p *rulePreview) readQuery(q query, now task.Millis) error {
	p.limit, p.days = q.number(previewParam, 10), q.number(daysParam, 0)
	for _, given := range []struct {
		name string
		at   *task.Millis
	}{{"from", &p.from}, {"absent_from", &p.away.From}, {"absent_until", &p.away.Until}} {
		t, ok := q.time(given.name)
		if !ok {
			continue
		}
		if *given.at = task.CeilMillis(t); *given.at <= 0 || *given.at > recurrence.LastInstant {
			return refuse("out_of_range", given.name, "must be after 1970 and before the year 10000")
		}
	}
	p.from = cmp.Or(p.from, now)
	switch {
	case (p.away.From == 0) != (p.away.Until == 0):
		return refuse("bad_parameter", "absent_until", "an absence needs absent_from and absent_until")
	case p.away.Until < p.away.From:
		return refuse("out_of_range", "absent_until", "must not be before absent_from")
	}
	return nil
}

// anchor sets the anchor of a rule with an interval, if it has none: the first
// time of the preview.
func (p *rulePreview) anchor() {
	switch r := &p.rule; {
	case r.Cron != "" || r.Anchor != 0:
	case r.Start != 0:
		r.Anchor = r.Start
	case p.away.From != 0:
		r.Anchor = min(p.from, p.away.From)
	default:
		r.Anchor = p.from
	}
}

func (p *rulePreview) compute() (reply wire.RulePreview, err error) {
	clocks, err := p.rule.Clocks()
	if err != nil {
		return reply, err
	}
	calendar, err := p.rule.Calendar()
	if err != nil {
		return reply, err
	}
	instants := calendar.Instants(p.from, task.Never, p.limit)
	reply = wire.RulePreview{Words: words(&p.rule), Instants: showInstants(instants, clocks.Zone), ClockChanges: []wire.ClockChange{}}
	last := p.from
	if n := len(instants); n > 0 {
		last = instants[n-1]
	}
	if p.days > 0 {
		day := p.from.Time().In(clocks.Zone)
		begin := task.CeilMillis(cron.Midnight(day, clocks.Zone))
		for i := range p.days {
			end := task.CeilMillis(cron.Midnight(day.AddDate(0, 0, i+1), clocks.Zone))
			reply.Days = append(reply.Days, len(calendar.Instants(begin, end-1, maxDayCount)))
			begin = end
		}
		last = max(last, begin)
	}
	if clocks.Expr != nil {
		for _, c := range clocks.ClockChanges(p.from.Time(), last.Time()) {
			reply.ClockChanges = append(reply.ClockChanges, wire.ClockChange{
				At: wire.FormatTime(c.At), Local: c.At.Format(time.RFC3339), Repeats: c.Repeats, Words: c.Words(clocks),
			})
		}
	}
	if p.away.From != 0 {
		reply.Absence, err = p.absence(clocks.Zone)
	}
	return reply, err
}

func (p *rulePreview) absence(zone *time.Location) (*wire.Absence, error) {
	fired, skipped, err := p.rule.CatchUp(p.away)
	if err != nil {
		return nil, err
	}
	shown := &wire.Absence{Fired: len(fired), Latest: showInstants(fired[max(0, len(fired)-maxLatest):], zone), Skipped: make([]wire.SkippedInstants, len(skipped))}
	for i, k := range skipped {
		shown.Skipped[i] = wire.SkippedInstants{From: showTime(k.From), Until: showTime(k.Until), Why: k.Why}
	}
	return shown, nil
}

func showInstants(instants []task.Millis, zone *time.Location) []wire.Instant {
	shown := make([]wire.Instant, len(instants))
	for i, at := range instants {
		shown[i] = wire.Instant{At: showTime(at), Local: at.Time().In(zone).Format(time.RFC3339Nano)}
	}
	return shown
}
