package task

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// A naive model judges schedules. It is written from the comments of
// Recurrence, Rule and the changes, and shares no code with
// fire_schedule.go and the recurrence package. It walks through all instants of a history, one by one,
// and keeps the outcome of each in a map.

// modelStep divides all instants of the model's expressions, and all offsets of
// clocks.
const modelStep = 5 * time.Minute

// modelExpr is an expression and its meaning.
type modelExpr struct {
	text  string
	fixed bool
	daily bool                      // it has nights without an instant
	names func(wall time.Time) bool // wall: the time on the clock, as if it were UTC
}

var modelExprs = []modelExpr{
	{"*/15 * * * *", false, false, func(w time.Time) bool { return w.Minute()%15 == 0 }},
	{"0 * * * *", false, false, func(w time.Time) bool { return w.Minute() == 0 }},
	{"*/20 2 * * *", false, true, func(w time.Time) bool { return w.Hour() == 2 && w.Minute()%20 == 0 }},
	{"30 2 * * *", true, true, func(w time.Time) bool { return w.Hour() == 2 && w.Minute() == 30 }},
	{"0 0 * * *", true, true, func(w time.Time) bool { return w.Hour() == 0 && w.Minute() == 0 }},
	{"15,45 0-3 * * *", true, true, func(w time.Time) bool { return w.Hour() <= 3 && w.Minute()%30 == 15 }},
	{"0 21 * * MON-FRI", true, true, func(w time.Time) bool {
		return w.Hour() == 21 && w.Minute() == 0 && w.Weekday() != time.Saturday && w.Weekday() != time.Sunday
	}},
}

// modelDays are nights in which clocks change.
var modelDays = []struct{ zone, day string }{
	{"UTC", "2027-05-01"},
	{"Europe/Berlin", "2027-03-28"},
	{"Europe/Berlin", "2027-10-31"},
	{"America/New_York", "2027-03-14"},
	{"America/New_York", "2027-11-07"},
	{"Australia/Lord_Howe", "2027-04-04"},
	{"Australia/Lord_Howe", "2027-10-03"},
	{"America/Sao_Paulo", "2018-11-04"},
	{"America/Sao_Paulo", "2019-02-17"},
	{"Pacific/Apia", "2011-12-30"},
}

// walkThrough returns the instants of a rule within [from, until], as if it had no end.
func walkThrough(r *recurrence.Rule, from, until Millis) (all []Millis) {
	keep := func(at Millis) {
		if at >= from && at <= until && at >= r.Start {
			all = append(all, at)
		}
	}
	if r.Cron == "" {
		first := r.Anchor
		if r.Start == 0 {
			first += Millis(r.Every.Milliseconds())
		}
		for at := first; at <= until; at += Millis(r.Every.Milliseconds()) {
			keep(at)
		}
		return all
	}
	expr := modelExprs[slices.IndexFunc(modelExprs, func(x modelExpr) bool { return x.text == r.Cron })]
	zone, err := time.LoadLocation(r.Zone)
	if err != nil {
		panic(err)
	}
	const step = Millis(modelStep / time.Millisecond)
	shown := time.Time{} // the latest time shown on a clock
	for at := from/step*step - 3*24*3_600_000; at <= until; at += step {
		_, ahead := at.Time().In(zone).Zone()
		wall := at.Add(time.Duration(ahead) * time.Second).Time()
		if names(expr, r, shown, wall) {
			keep(at)
		}
		if wall.After(shown) {
			shown = wall
		}
	}
	return all
}

// names reports whether the rule has an instant where the clock goes on to
// wall, after it had shown all times until shown.
func names(x modelExpr, r *recurrence.Rule, shown, wall time.Time) bool {
	switch {
	case !x.fixed:
		return x.names(wall)
	case !wall.After(shown): // it was shown before
		return r.Fold == cron.OverlapBoth && x.names(wall)
	case x.names(wall):
		return true
	case shown.IsZero() || r.Gap == cron.GapSkip:
		return false
	}
	for swallowed := shown.Add(modelStep); swallowed.Before(wall); swallowed = swallowed.Add(modelStep) {
		if x.names(swallowed) {
			return true
		}
	}
	return false
}

// scheduleModel is a schedule by the documented rules of missed instants and overlaps.
type scheduleModel struct {
	rule    recurrence.Rule
	all     []Millis // the instants, in order, as if there were no end; the history ends before the last
	paused  bool
	waiting Millis
	runs    int64

	floor   Millis // no instant until here makes an occurrence: the schedule's beginning, or a pause's end
	last    Millis // instants up to here were handled
	fired   map[Millis]bool
	skipped map[Millis]string
	limited map[Millis]bool // instants that catchup_limit has let through
	due     Millis
}

// open returns the instants until a time that may still make an occurrence.
func (m *scheduleModel) open(until Millis) (open []Millis) {
	if m.rule.MaxRuns > 0 && m.runs >= m.rule.MaxRuns {
		return nil
	}
	i := sort.Search(len(m.all), func(i int) bool { return m.all[i] > m.floor })
	for _, at := range m.all[i:] {
		if at > until || m.over(at) {
			break
		}
		if !m.fired[at] && m.skipped[at] == "" {
			open = append(open, at)
		}
	}
	return open
}

// over reports whether an instant is after the schedule's end.
func (m *scheduleModel) over(at Millis) bool { return m.rule.End != 0 && at > m.rule.End }

// next returns the first future instant, or 0.
func (m *scheduleModel) next() Millis {
	if open := m.open(Never); len(open) > 0 {
		return open[0]
	}
	return 0
}

// arrange returns the time of the schedule's next check.
func (m *scheduleModel) arrange(now Millis) {
	m.due = Never
	if next := m.next(); next != 0 && !m.paused {
		m.due = next
	}
	if m.waiting != 0 {
		m.due = min(m.due, now+max(1000, min(now-m.waiting, 30_000)))
	}
}

// rewind handles a clock that was set back. Two things stay: the fired
// instants, and the instants that a join of spans closed for good. An interval
// that has not begun by the new time begins earlier.
func (m *scheduleModel) rewind(now Millis, closed func(Millis) bool) {
	if m.last <= now+1000 {
		return
	}
	if r := &m.rule; r.Every > 0 && r.Start == 0 && r.Anchor <= m.last { // the clock was ahead when the interval began
		for r.Anchor >= now {
			m.all = slices.Concat([]Millis{r.Anchor}, m.all)
			r.Anchor -= Millis(r.Every.Milliseconds())
		}
	}
	m.last, m.floor = now, min(m.floor, now)
	for at := range m.skipped {
		if at > now && !closed(at) {
			delete(m.skipped, at)
		}
	}
	m.unlimit(now)
}

// unlimit forgets the instants after now that the limit has let through.
func (m *scheduleModel) unlimit(now Millis) {
	maps.DeleteFunc(m.limited, func(at Millis, _ bool) bool { return at > now })
}

// forgetMissed skips all missed instants until now.
func (m *scheduleModel) forgetMissed(now Millis) {
	m.floor, m.last = max(m.floor, now), max(m.last, now)
	m.unlimit(now)
}

// fire returns the instant of the occurrence that begins, or 0, and the skipped
// instants. It returns false if the schedule is not due.
func (m *scheduleModel) fire(now Millis, unfinished int, closed func(Millis) bool) (made Millis, skipped map[Millis]string, due bool) {
	freed := m.waiting != 0 && unfinished == 0
	if m.due > now && !freed {
		return 0, nil, false
	}
	m.rewind(now, closed)
	skipped = map[Millis]string{}
	if freed {
		made, m.waiting = m.waiting, 0
	} else if at := m.choose(now, skipped); at != 0 {
		switch {
		case m.rule.Overlap == recurrence.AllowOverlap || unfinished == 0:
			made = at
			m.begin(at)
		case m.rule.Overlap == recurrence.BufferOne && m.waiting == 0:
			m.waiting = at
			m.begin(at)
		default:
			skipped[at] = recurrence.SkippedOverlap
		}
		m.last = at
	}
	for at, why := range skipped {
		m.skipped[at] = why
		m.last = max(m.last, at)
	}
	m.arrange(now)
	return made, skipped, true
}

func (m *scheduleModel) begin(at Millis) { m.runs++; m.fired[at] = true }

// choose returns the instant to fire next, or 0, and skips those that the
// policies pass over.
func (m *scheduleModel) choose(now Millis, skipped map[Millis]string) Millis {
	missed := m.open(now)
	skip := func(n int, why string) {
		for _, at := range missed[:n] {
			skipped[at] = why
		}
		missed = missed[n:]
	}
	if len(missed) == 0 {
		return 0
	}
	latest := missed[len(missed)-1]
	late := now-latest > m.grace(latest)
	old := sort.Search(len(missed), func(i int) bool {
		return now-missed[i] <= Millis(m.rule.CatchupWindow.Milliseconds()) || missed[i] == latest && !late || now-missed[i] <= m.grace(latest)
	})
	if skip(old, recurrence.SkippedWindow); len(missed) == 0 {
		return 0
	}
	switch {
	case m.rule.Missed == recurrence.FireAll:
		if !m.limited[missed[0]] {
			skip(max(0, len(missed)-m.rule.CatchupLimit), recurrence.SkippedLimit)
			for _, at := range missed {
				m.limited[at] = true
			}
		}
	case m.rule.Missed == recurrence.SkipMissed && late:
		skip(len(missed), recurrence.SkippedMissed)
		return 0
	default:
		skip(len(missed)-1, recurrence.SkippedMissed)
	}
	return missed[0]
}

// grace is a tenth of the way to the next instant, between a second and a minute.
func (m *scheduleModel) grace(at Millis) Millis {
	i, _ := slices.BinarySearch(m.all, at+1)
	if i == len(m.all) || m.over(m.all[i]) {
		return 60_000
	}
	return min(60_000, max(1000, (m.all[i]-at)/10))
}

// dropWaiting cancels the waiting run.
func (m *scheduleModel) dropWaiting() {
	if m.waiting != 0 {
		m.runs--
		m.waiting = 0
	}
}
