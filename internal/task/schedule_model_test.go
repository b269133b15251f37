package task

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cron"
)

// A naive model judges schedules. It is written from the comments of Recurrence, Rule and
// the changes, and shares nothing with calendar.go, fire.go and spans.go: it walks through
// all instants of a history, minute by minute, and keeps what became of each in a map.

// modelExpr is an expression and what it means.
type modelExpr struct {
	text  string
	fixed bool
	daily bool                      // it has nights without an instant
	names func(wall time.Time) bool // wall: what the clock shows, as if it were UTC
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
	{"Europe/Berlin", "2027-03-28"}, {"Europe/Berlin", "2027-10-31"},
	{"America/New_York", "2027-03-14"}, {"America/New_York", "2027-11-07"},
	{"Australia/Lord_Howe", "2027-04-04"}, {"Australia/Lord_Howe", "2027-10-03"},
	{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2019-02-17"},
	{"Pacific/Apia", "2011-12-30"},
}

// walkThrough returns the instants of a rule within [from, until], as if it had no end.
func walkThrough(r *Rule, from, until Millis) (all []Millis) {
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
	const step = Millis(60_000)
	shown := time.Time{} // the latest that a clock showed
	for at := (from/step)*step - 3*24*60*step; at <= until; at += step {
		t := at.Time().In(zone)
		wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
		if names(expr, r, shown, wall) {
			keep(at)
		}
		if wall.After(shown) {
			shown = wall
		}
	}
	return all
}

// names reports whether the rule has an instant where the clock goes on to wall, and had shown
// everything until shown.
func names(x modelExpr, r *Rule, shown, wall time.Time) bool {
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
	for swallowed := shown.Add(time.Minute); swallowed.Before(wall); swallowed = swallowed.Add(time.Minute) {
		if x.names(swallowed) {
			return true
		}
	}
	return false
}

// scheduleModel is a schedule as the rules of misfires and overlaps say.
type scheduleModel struct {
	rule    Rule
	all     []Millis // the instants, in order, as if there were no end; the history ends before the last
	paused  bool
	waiting Millis
	runs    int64

	floor   Millis // nothing until here is made: the schedule's beginning, a pause's end
	last    Millis // up to here instants were dealt with
	fired   map[Millis]bool
	skipped map[Millis]string
	limited map[Millis]bool // catchup_limit has let it through
	due     Millis
}

// open returns the instants that may still make an occurrence, until a time.
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

// over reports whether an instant lies after the schedule's end.
func (m *scheduleModel) over(at Millis) bool { return m.rule.End != 0 && at > m.rule.End }

// next returns the first instant to come, 0 for none.
func (m *scheduleModel) next() Millis {
	if open := m.open(Never); len(open) > 0 {
		return open[0]
	}
	return 0
}

// arrange says when the schedule wants to be looked at.
func (m *scheduleModel) arrange(now Millis) {
	m.due = Never
	if next := m.next(); next != 0 && !m.paused {
		m.due = next
	}
	if m.waiting != 0 {
		m.due = min(m.due, now+max(1000, min(now-m.waiting, 30_000)))
	}
}

// rewind takes in a clock that was set back. What stays: what was fired, and what a join of
// spans closed for good.
func (m *scheduleModel) rewind(now Millis, closed func(Millis) bool) {
	if m.last <= now+1000 {
		return
	}
	m.last, m.floor = now, min(m.floor, now)
	for at := range m.skipped {
		if at > now && !closed(at) {
			delete(m.skipped, at)
		}
	}
	for at := range m.limited {
		if at > now {
			delete(m.limited, at)
		}
	}
}

// fire returns the instant of the occurrence that begins, 0 for none, and what is skipped.
// False: it is not due.
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
		case m.rule.Overlap == AllowOverlap || unfinished == 0:
			made = at
			m.begin(at)
		case m.rule.Overlap == BufferOne && m.waiting == 0:
			m.waiting = at
			m.begin(at)
		default:
			skipped[at] = SkippedOverlap
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

// choose returns the instant whose turn it is, 0 for none, and skips those that the
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
	if skip(old, SkippedWindow); len(missed) == 0 {
		return 0
	}
	switch {
	case m.rule.Misfire == FireAll:
		if !m.limited[missed[0]] {
			skip(max(0, len(missed)-m.rule.CatchupLimit), SkippedLimit)
			for _, at := range missed {
				m.limited[at] = true
			}
		}
	case m.rule.Misfire == SkipMissed && late:
		skip(len(missed), SkippedMisfire)
		return 0
	default:
		skip(len(missed)-1, SkippedMisfire)
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

// giveUp takes back the run that waits.
func (m *scheduleModel) giveUp() {
	if m.waiting != 0 {
		m.runs--
		m.waiting = 0
	}
}

// history is a schedule and its model on their way through a random life.
type history struct {
	*rand.Rand
	t    *testing.T
	s    *Task
	m    scheduleModel
	now  Millis
	unit Millis // about so far are instants apart

	from, until Millis // between them all instants are known

	unfinished []Millis
	gone       map[Millis]bool // occurrences that this rule has made
	joined     bool            // spans were joined: not all that they cover was fired
	trace      []string
}

func (h *history) fatalf(format string, args ...any) {
	h.t.Helper()
	for _, line := range h.trace[max(0, len(h.trace)-25):] {
		h.t.Log(line)
	}
	h.t.Fatalf(format, args...)
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf("%s: ", stamp(h.now))+fmt.Sprintf(format, args...))
}

func stamp(m Millis) string {
	if m == 0 || m >= Never {
		return "never"
	}
	return m.Time().Format("01-02T15:04:05.000")
}

// one returns one of choices.
func one[T any](h *history, choices ...T) T { return choices[h.IntN(len(choices))] }

// spec returns a random schedule, and sets unit.
func (h *history) spec() ScheduleSpec {
	s := everySpec(0)
	r := &s.Rule
	if h.IntN(3) == 0 {
		r.Every = one(h, time.Second, 1300*time.Millisecond, 5*time.Second, time.Minute, 25*time.Minute)
		h.unit = Millis(r.Every.Milliseconds())
	} else {
		x := modelExprs[h.IntN(len(modelExprs))]
		r.Cron, r.Zone = x.text, one(h, modelDays...).zone
		r.Gap, r.Fold = one(h, cron.GapNext, cron.GapSkip), one(h, cron.OverlapFirst, cron.OverlapBoth)
		h.unit = 20 * 60_000
		if x.daily {
			h.unit = 5 * 3_600_000
		}
	}
	if h.IntN(4) == 0 {
		r.Start = h.now + Millis(h.Int64N(int64(20*h.unit))) - 10*h.unit
	}
	if h.IntN(6) == 0 {
		r.End = max(h.now, r.Start) + Millis(h.Int64N(int64(130*h.unit)))
	}
	h.policies(r)
	return s
}

// policies chooses what is no matter of instants.
func (h *history) policies(r *Rule) {
	r.Misfire, r.Overlap = Misfire(h.IntN(3)), Overlap(h.IntN(3))
	r.MaxRuns = 0
	if h.IntN(6) == 0 {
		r.MaxRuns = 1 + h.Int64N(40)
	}
	r.Jitter = one(h, 0, 0, 300*time.Millisecond, time.Hour)
	r.CatchupLimit = one(h, 1, 3, 10, 100)
	window := time.Duration(h.unit) * time.Millisecond
	r.CatchupWindow = one(h, 0, window, 7*window, 50*window, 1000*window)
}

// put makes the schedule, or gives it another rule.
func (h *history) put(s ScheduleSpec) {
	if err := s.Validate(h.now); err != nil || h.s != nil && sameInstants(&s.Rule, &h.m.rule) {
		return
	}
	h.note("PUT %+v", s.Rule)
	h.do(PutSchedule{Spec: s})
	before := h.m
	h.m = scheduleModel{
		rule: h.s.Recur.Rule, paused: before.paused, waiting: before.waiting, runs: before.runs,
		floor: h.now, last: h.now, fired: map[Millis]bool{}, skipped: map[Millis]string{}, limited: map[Millis]bool{},
	}
	h.from, h.until = h.now-200*h.unit, h.now+500*h.unit
	h.m.all = walkThrough(&h.m.rule, h.from, h.until)
	if before.last <= h.now+1000 {
		h.m.floor, h.m.last = max(h.now, before.last), max(h.now, before.last)
	}
	h.gone, h.joined = map[Millis]bool{}, false
	h.changed()
}

// sameInstants reports whether a and b differ in policies and bounds alone.
func sameInstants(a, b *Rule) bool {
	return a.Cron == b.Cron && a.Every == b.Every && a.Zone == b.Zone && a.Gap == b.Gap && a.Fold == b.Fold && a.Start == b.Start
}

// putSame changes the policies and bounds alone.
func (h *history) putSame() {
	s := everySpec(0)
	s.Rule = h.m.rule
	s.Rule.Anchor = 0
	h.policies(&s.Rule)
	if h.IntN(3) == 0 {
		s.Rule.End = one(h, 0, h.now+50*h.unit)
	}
	if err := s.Validate(h.now); err != nil {
		return
	}
	h.note("PUT the same %+v", s.Rule)
	ended := h.m.next() == 0
	h.do(PutSchedule{Spec: s})
	if ended {
		h.m.floor, h.m.last = max(h.m.floor, h.now), max(h.m.last, h.now)
	}
	h.m.rule = h.s.Recur.Rule
	h.m.all = walkThrough(&h.m.rule, h.from, h.until)
	h.changed()
}

// changed follows every PUT.
func (h *history) changed() {
	if h.m.rule.Overlap != BufferOne {
		h.m.giveUp()
	}
	h.m.rewind(h.now, h.closed)
	h.m.arrange(h.now)
	h.compare()
}

// pause pauses or resumes.
func (h *history) pause(resume bool) {
	h.note("pause, or resume: %v", resume)
	h.do(PauseSchedule{Key: ScheduleKey(DefaultNamespace, "nightly"), Resume: resume})
	if h.m.paused == resume {
		h.m.paused = !resume
		if resume {
			h.m.floor, h.m.last = max(h.m.floor, h.now), max(h.m.last, h.now)
		} else {
			h.m.giveUp()
		}
		h.m.rewind(h.now, h.closed)
		h.m.arrange(h.now)
	}
	h.compare()
}

// check is what upkeep does now and then.
func (h *history) check() {
	h.note("check")
	h.do(CheckSchedule{Key: ScheduleKey(DefaultNamespace, "nightly")})
	if h.m.due > h.now && !h.m.paused {
		before := h.m.due
		h.m.rewind(h.now, h.closed)
		h.m.arrange(h.now)
		if h.m.waiting != 0 {
			h.m.due = min(h.m.due, before)
		}
	}
	h.compare()
}

func (h *history) do(c Change) {
	r, err := c.Apply(h.now, h.s, Policy{})
	if err != nil {
		h.fatalf("%T: %v", c, err)
	}
	body := []byte("{}")
	h.s = r.Task.Clone()
	h.s.Request.Body = body
}

// closed reports whether a join of spans has closed what was skipped.
func (h *history) closed(at Millis) bool {
	_, covered := h.s.Recur.firedAt(at)
	return covered && h.joined
}

// fireAll fires as a dispatcher does: until nothing is due. most bounds it, as a crash does.
func (h *history) fireAll(most int) {
	for range most {
		if !h.fire() {
			return
		}
	}
}

func (h *history) fire() bool {
	r, err := Fire{Key: h.s.Key(), Unfinished: int64(len(h.unfinished))}.Apply(h.now, h.s, Policy{})
	made, skipped, due := h.m.fire(h.now, len(h.unfinished), h.closed)
	if due != (err == nil) {
		h.fatalf("the model says due %v, Fire %v", due, err)
	}
	if !due {
		return false
	}
	var got Millis
	if t := r.Spawned; t != nil {
		_, got, _ = OccurrenceOf(t.Name)
		if early := min(got, h.now); t.Due < early || t.Due > early.Add(h.m.rule.Jitter) || t.CreatedAt != h.now {
			h.fatalf("the occurrence of %s is due %s, created %s", stamp(got), stamp(t.Due), stamp(t.CreatedAt))
		}
	}
	h.note("fired %s, skipped %d, %d unfinished", stamp(got), len(skipped), len(h.unfinished))
	if got != made {
		h.fatalf("fired %s, the model says %s", stamp(got), stamp(made))
	}
	h.passed(r.Skipped, skipped)
	if got != 0 {
		if h.gone[got] {
			h.fatalf("%s was fired twice", stamp(got))
		}
		h.gone[got] = true
		h.unfinished = append(h.unfinished, got)
	}
	h.s = r.Task
	h.s.Request.Body = []byte("{}")
	h.compare()
	return true
}

// passed compares what was skipped.
func (h *history) passed(spans []Skip, want map[Millis]string) {
	got := map[Millis]string{}
	for _, s := range spans {
		for _, at := range h.m.all {
			if s.From <= at && at <= s.Until {
				got[at] = s.Why
			}
		}
		if got[s.From] == "" || got[s.Until] == "" {
			h.fatalf("skipped from %s until %s, which are no instants", stamp(s.From), stamp(s.Until))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.fatalf("skipped %v, the model says %v", got, want)
	}
}

// compare compares what can be seen of the schedule.
func (h *history) compare() {
	r := h.s.Recur
	if r.Next != h.m.next() || h.s.Due != h.m.due || r.Waiting != h.m.waiting || r.Runs != h.m.runs || r.Paused != h.m.paused {
		h.fatalf("next %s, due %s, waiting %s, runs %d, paused %v; the model says %s, %s, %s, %d, %v", stamp(r.Next), stamp(h.s.Due), stamp(r.Waiting), r.Runs, r.Paused,
			stamp(h.m.next()), stamp(h.m.due), stamp(h.m.waiting), h.m.runs, h.m.paused)
	}
	runs := 0 // of instants that were fired and follow each other
	for i, at := range h.m.all {
		_, covered := r.firedAt(at)
		if fired := h.m.fired[at]; fired && !covered || covered && !fired && len(r.Fired) < maxSpans && !h.joined {
			h.fatalf("%s: fired %v, in a span %v: %v", stamp(at), fired, covered, r.Fired)
		}
		if h.m.fired[at] && (i == 0 || !h.m.fired[h.m.all[i-1]]) {
			runs++
		}
	}
	h.joined = h.joined || runs > maxSpans
	if len(r.Fired) > maxSpans || !h.joined && len(r.Fired) != runs {
		h.fatalf("%d spans: %v, the model has %d", len(r.Fired), r.Fired, runs)
	}
}

// step is the next thing that happens.
func (h *history) step() {
	h.unfinished = slices.DeleteFunc(h.unfinished, func(Millis) bool { return h.IntN(3) == 0 })
	switch n := h.IntN(100); {
	case n < 55: // on time, or somewhat late
		if h.m.due < Never {
			h.now = max(h.now, h.m.due)
		}
		h.now += one(h, 0, 0, 0, 3, 1001, 1500, h.unit/11, h.unit/2, 3*h.unit)
	case n < 62: // nothing is due yet
		if h.m.due > h.now+1 && h.m.due < Never {
			h.now = h.m.due - 1
		}
	case n < 70: // down
		h.now += Millis(h.Int64N(int64(40 * h.unit)))
		h.note("was down")
	case n < 76:
		h.now += h.jump()
		h.note("the clock is set ahead")
	case n < 84:
		h.now -= h.jump()
		h.note("the clock is set back")
		if h.IntN(4) > 0 {
			h.check()
		}
	case n < 89:
		h.pause(false)
	case n < 95:
		h.pause(true)
	case n < 98:
		h.putSame()
	default:
		h.put(h.spec())
	}
	if h.IntN(10) == 0 {
		h.check()
	}
	h.fireAll(one(h, 1, 1_000_000, 1_000_000))
}

// jump returns by how much the clock is set: up to an hour, or fifty instants.
func (h *history) jump() Millis { return Millis(h.Int64N(int64(min(3_600_000, 50*h.unit)))) }

// live runs a history until it has had so many steps, or its time is over.
func (h *history) live(steps int) {
	day := one(h, modelDays...)
	begin, err := time.Parse(time.DateOnly, day.day)
	if err != nil {
		h.t.Fatal(err)
	}
	h.now = Millis(begin.UnixMilli()) - 2*24*3_600_000 + Millis(h.Int64N(3*24*3_600_000))
	spec := h.spec()
	for h.s == nil {
		h.put(spec)
		spec = h.spec()
	}
	for range steps {
		if h.now > h.until-100*h.unit || h.now < h.from+60*h.unit {
			return
		}
		h.step()
	}
}

func TestSchedulesDoWhatANaiveModelSays(t *testing.T) {
	histories := 100
	if !testing.Short() {
		histories = 3000
	}
	for seed := range histories {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &history{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), t: t}
			h.live(120)
		})
		if !ok {
			return
		}
	}
}
