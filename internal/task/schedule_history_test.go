package task

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// history is a schedule and its model in a random sequence of events.
type history struct {
	*rand.Rand
	t    *testing.T
	s    *Task
	m    scheduleModel
	now  Millis
	unit Millis // about the distance between instants

	from, until Millis // all instants between these are known

	unfinished []Millis
	gone       map[Millis]bool // occurrences that this rule has made
	joined     bool            // spans were joined, so they may cover instants that were not fired
	ended      bool            // the rule has had an end, and spans are not joined over it
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

// spec returns a random schedule, and about the distance between its instants.
func (h *history) spec() (s ScheduleSpec, unit Millis) {
	s = everySpec(0)
	r := &s.Rule
	if h.IntN(3) == 0 {
		r.Every = one(h, time.Second, 1300*time.Millisecond, 5*time.Second, time.Minute, 25*time.Minute)
		unit = Millis(r.Every.Milliseconds())
	} else {
		x := modelExprs[h.IntN(len(modelExprs))]
		r.Cron, r.Zone = x.text, one(h, modelDays...).zone
		r.Gap, r.Fold = one(h, cron.GapNext, cron.GapSkip), one(h, cron.OverlapFirst, cron.OverlapBoth)
		unit = 20 * 60_000
		if x.daily {
			unit = 5 * 3_600_000
		}
	}
	if h.IntN(4) == 0 {
		r.Start = h.now + Millis(h.Int64N(int64(20*unit))) - 10*unit
	}
	if h.IntN(6) == 0 {
		r.End = max(h.now, r.Start) + Millis(h.Int64N(int64(130*unit)))
	}
	h.policies(r, unit)
	return s, unit
}

// policies chooses the policies, which do not affect the instants.
func (h *history) policies(r *recurrence.Rule, unit Millis) {
	r.Missed, r.Overlap = recurrence.Missed(h.IntN(3)), recurrence.Overlap(h.IntN(3))
	r.MaxRuns = 0
	if h.IntN(6) == 0 {
		r.MaxRuns = 1 + h.Int64N(40)
	}
	r.Jitter = one(h, 0, 0, 300*time.Millisecond, time.Hour)
	r.CatchupLimit = one(h, 1, 3, 10, 100)
	window := time.Duration(unit) * time.Millisecond
	r.CatchupWindow = one(h, 0, window, 7*window, 50*window, 1000*window)
}

// put makes the schedule, or gives it another rule.
func (h *history) put(s ScheduleSpec, unit Millis) {
	if !h.takes(s) || h.s != nil && sameInstants(&s.Rule, &h.m.rule) {
		return
	}
	h.note("PUT %+v", s.Rule)
	h.do(PutSchedule{Spec: s})
	h.unit = unit
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
	h.gone, h.joined, h.ended = map[Millis]bool{}, false, false
	h.m.dropWaiting()
	h.changed()
}

// takes reports whether the schedule is accepted.
func (h *history) takes(s ScheduleSpec) bool {
	_, err := PutSchedule{Spec: s}.Apply(h.now, h.s, facts)
	return err == nil && s.Validate(h.now) == nil
}

// sameInstants reports whether a and b differ only in policies and bounds.
func sameInstants(a, b *recurrence.Rule) bool {
	return a.Cron == b.Cron && a.Every == b.Every && a.Zone == b.Zone && a.Gap == b.Gap && a.Fold == b.Fold && a.Start == b.Start
}

// putSame changes only the policies and bounds.
func (h *history) putSame() {
	s := everySpec(0)
	s.Rule = h.m.rule
	s.Rule.Anchor = 0
	h.policies(&s.Rule, h.unit)
	if h.IntN(3) == 0 {
		s.Rule.End = one(h, 0, h.now+50*h.unit)
	}
	if !h.takes(s) {
		return
	}
	h.note("PUT the same %+v", s.Rule)
	ended := h.m.next() == 0
	h.do(PutSchedule{Spec: s})
	if ended {
		h.m.forgetMissed(h.now)
	}
	anchor := h.m.rule.Anchor // rewind moves it
	h.m.rule = h.s.Recur.Rule
	h.m.rule.Anchor = anchor
	clear(h.m.limited)
	h.changed()
}

// changed follows every PUT.
func (h *history) changed() {
	if h.m.rule.Overlap != recurrence.BufferOne {
		h.m.dropWaiting()
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
			h.m.forgetMissed(h.now)
		} else {
			h.m.dropWaiting()
		}
		h.m.rewind(h.now, h.closed)
		h.m.arrange(h.now)
	}
	h.compare()
}

// check applies CheckSchedule, as maintenance does now and then.
func (h *history) check() {
	h.note("check")
	h.do(CheckSchedule{Key: ScheduleKey(DefaultNamespace, "nightly")})
	if h.m.due > h.now && !h.m.paused {
		before := h.m
		h.m.skipped, h.m.limited = maps.Clone(before.skipped), maps.Clone(before.limited)
		h.m.rewind(h.now, h.closed)
		h.m.arrange(h.now)
		if h.m.next() == before.next() && (h.m.due == before.due || h.m.waiting != 0 && before.due < h.m.due) {
			h.m = before // it is left alone
		}
	}
	h.compare()
}

func (h *history) do(c Change) {
	r, err := c.Apply(h.now, h.s, Facts{})
	if err != nil {
		h.fatalf("%T: %v", c, err)
	}
	h.keep(r.Task)
}

// keep stores the record as a store does: its body stays.
func (h *history) keep(t *Task) {
	kept := *t
	kept.Request.Body = []byte("{}")
	h.s = &kept
}

// closed reports whether a join of spans has closed a skipped instant.
func (h *history) closed(at Millis) bool {
	_, covered := h.s.Recur.FiredAt(at)
	return covered && h.joined
}

// fireAll fires as a dispatcher does, until nothing is due. most limits the
// number, as a crash does.
func (h *history) fireAll(most int) {
	for range most {
		if !h.fire() {
			return
		}
	}
}

func (h *history) fire() bool {
	r, err := Fire{Key: h.s.Key()}.Apply(h.now, h.s, Facts{Unfinished: int64(len(h.unfinished))})
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
	h.keep(r.Task)
	h.compare()
	return true
}

// takeInJoins marks in the model the future instants that a join of spans has
// closed.
func (h *history) takeInJoins() {
	if !h.joined && len(h.s.Recur.Fired) < recurrence.MaxSpans {
		return
	}
	next := h.m.next()
	for _, at := range h.m.all {
		if at > h.m.floor && !h.m.fired[at] && h.m.skipped[at] == "" {
			if _, covered := h.s.Recur.FiredAt(at); covered {
				h.m.skipped[at], h.joined = "joined", true
			}
		}
	}
	switch {
	case h.m.due != next || h.m.next() == next:
	case h.m.waiting == 0:
		h.m.arrange(h.now)
	case h.s.Due <= max(h.m.next(), h.now+maxCheck): // the time of the last check is unknown here
		h.m.due = h.s.Due
	}
}

// passed compares the skipped instants.
func (h *history) passed(spans []recurrence.Skip, want map[Millis]string) {
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

// compare compares the visible state of the schedule.
func (h *history) compare() {
	h.takeInJoins()
	r := h.s.Recur
	if r.Next != h.m.next() || h.s.Due != h.m.due || r.Waiting != h.m.waiting || r.Runs != h.m.runs || r.Paused != h.m.paused {
		h.fatalf("next %s, due %s, waiting %s, runs %d, paused %v; the model says %s, %s, %s, %d, %v", stamp(r.Next), stamp(h.s.Due), stamp(r.Waiting), r.Runs, r.Paused,
			stamp(h.m.next()), stamp(h.m.due), stamp(h.m.waiting), h.m.runs, h.m.paused)
	}
	runs := 0 // of consecutive fired instants
	for i, at := range h.m.all {
		_, covered := r.FiredAt(at)
		if fired := h.m.fired[at]; fired && !covered || covered && !fired && len(r.Fired) < recurrence.MaxSpans && !h.joined {
			h.fatalf("%s: fired %v, in a span %v: %v", stamp(at), fired, covered, r.Fired)
		}
		if h.m.fired[at] && (i == 0 || !h.m.fired[h.m.all[i-1]]) {
			runs++
		}
	}
	h.joined = h.joined || runs > recurrence.MaxSpans
	h.ended = h.ended || r.End != 0
	if n := len(r.Fired); n > recurrence.MaxSpans || !h.joined && (n < runs || n > runs && !h.ended) {
		h.fatalf("%d spans: %v, the model has %d", len(r.Fired), r.Fired, runs)
	}
}

// step makes the next event.
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

// jump returns a clock step: up to an hour, or fifty instants.
func (h *history) jump() Millis { return Millis(h.Int64N(int64(min(3_600_000, 50*h.unit)))) }

// live runs a history for a number of steps, or until its time is over.
func (h *history) live(steps int) {
	day := one(h, modelDays...)
	begin, err := time.Parse(time.DateOnly, day.day)
	fatal.If(h.t, err)
	h.now = Millis(begin.UnixMilli()) - 2*24*3_600_000 + Millis(h.Int64N(3*24*3_600_000))
	for h.s == nil {
		h.put(h.spec())
	}
	for range steps {
		if h.now > h.until-100*h.unit || h.now < h.from+60*h.unit {
			return
		}
		h.step()
	}
}

func TestSchedulesAgreeWithANaiveModel(t *testing.T) {
	histories := 5000
	switch {
	case testing.Short() && quick.All:
		histories = 200
	case testing.Short():
		histories = 60
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
