package api

import (
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
)

// newSchedule returns the schedule of a client that says nothing.
func newSchedule(key task.Key) task.ScheduleSpec {
	s := task.ScheduleSpec{Spec: task.DefaultSpec()}
	s.Key = key
	s.Rule.CatchupWindow, s.Rule.CatchupLimit = task.DefaultCatchupWindow, task.DefaultCatchupLimit
	return s
}

// decodeSchedule reads a schedule as a client asks for it, as decodeTask reads a task.
func (r *reader) decodeSchedule(s *task.ScheduleSpec, defaults func(queue string) task.Spec, bodyLimit int) error {
	given := map[string]bool{}
	rule := &s.Rule
	err := r.object(func(key []byte) (err error) {
		given[string(key)] = true
		switch string(key) {
		case "name":
			err = r.sameName(s.Name)
		case "cron":
			err = r.decodeCron(rule)
		case "timezone":
			rule.Zone, err = r.text()
		case "dst_gap":
			rule.Gap, err = choice(r, cron.ParseGap, "next or skip")
		case "dst_overlap":
			rule.Fold, err = choice(r, cron.ParseOverlap, "first or both")
		case "every":
			err = r.decodeEvery(rule)
		case "start":
			rule.Start, err = r.bound()
		case "end":
			rule.End, err = r.bound()
		case "anchor":
			rule.Anchor, err = r.bound()
		case "runs":
			s.Runs, err = pointed(r.int64())
		case "max_runs":
			rule.MaxRuns, err = r.int64()
		case "jitter":
			rule.Jitter, err = r.duration()
		case "misfire":
			rule.Misfire, err = choice(r, task.ParseMisfire, "fire_once, skip or fire_all")
		case "catchup_window":
			rule.CatchupWindow, err = r.duration()
		case "catchup_limit":
			rule.CatchupLimit, err = r.integer()
		case "overlap":
			rule.Overlap, err = choice(r, task.ParseOverlap, "allow, skip or buffer_one")
		case "paused":
			s.Paused, err = pointed(r.boolean())
		case "task":
			err = r.decodeScheduled(&s.Spec, defaults, bodyLimit)
		default:
			err = unknownScheduleField(key)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !given["task"]:
		return refuse("required", "task", "a schedule needs the task that it makes: task.http.url at least")
	case rule.Every != 0 && given["dst_gap"], rule.Every != 0 && given["dst_overlap"]:
		return refuse("conflict", "every", "dst_gap and dst_overlap belong to cron; every counts seconds, which are the same everywhere")
	}
	if !given["timezone"] && rule.Cron != "" {
		rule.Zone = task.DefaultZone
	}
	return nil
}

// bound reads a start or an end. The first instant of 1970 is one before: a zero would mean
// that there is none.
func (r *reader) bound() (task.Millis, error) {
	at, err := r.instant()
	if at == 0 {
		at = -1
	}
	return at, err
}

// decodeCron reads an expression; "@every 90s" is every.
func (r *reader) decodeCron(rule *task.Rule) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	expr, err := cron.Parse(text)
	if err != nil {
		return refuse("bad_cron", "", err.Error())
	}
	every, ok := expr.Every()
	switch {
	case ok && rule.Every != 0:
		return twoRules()
	case ok:
		rule.Every = every
	default:
		rule.Cron = expr.String()
	}
	return nil
}

func (r *reader) decodeEvery(rule *task.Rule) error {
	if rule.Every != 0 { // cron said it
		return twoRules()
	}
	every, err := r.duration()
	if err == nil && every == 0 { // it would mean that none was given
		err = refuse("out_of_range", "", "every lies between 1s and 100 years")
	}
	rule.Every = every
	return err
}

func twoRules() error { return refuse("conflict", "", "a schedule has cron or every, not both") }

// decodeScheduled reads what the tasks of a schedule are.
func (r *reader) decodeScheduled(s *task.Spec, defaults func(queue string) task.Spec, bodyLimit int) error {
	f := taskFields{spec: s, bodyLimit: bodyLimit}
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "name":
			return refuse("unknown_field", "", "the tasks of a schedule are called after it and their instants")
		case "at", "delay":
			return refuse("unknown_field", "", "the schedule says when its tasks are due")
		}
		return f.read(r, key)
	})
	if err != nil {
		return err
	}
	return f.fillDefaults(defaults)
}

// decodeSpan reads the ends of a backfill. What is finer than a millisecond is rounded
// towards the inside.
func (r *reader) decodeSpan(s *task.Span) error {
	var from, until time.Time
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "from":
			from, err = r.time()
		case "until":
			until, err = r.time()
		default:
			err = refuse("unknown_field", "", "a backfill has from and until")
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case from.IsZero():
		return refuse("required", "from", "a backfill needs from: the first instant is this, or the one after")
	case until.IsZero():
		return refuse("required", "until", "a backfill needs until: the last instant is this, or the one before")
	}
	s.From, s.Until = task.CeilMillis(from), task.FloorMillis(until)
	if s.From < 0 || until.Before(from) {
		return refuse("out_of_range", "from", "a backfill goes from a time after 1970 until a later one")
	}
	return nil
}

func (r *reader) time() (time.Time, error) {
	s, err := r.text()
	if err != nil {
		return time.Time{}, err
	}
	return parseTime("", s)
}

// choice reads one of the words of a policy.
func choice[T any](r *reader, parse func(string) (T, bool), words string) (policy T, err error) {
	word, err := r.text()
	if err != nil {
		return policy, err
	}
	policy, ok := parse(word)
	if !ok {
		err = refuse("bad_policy", "", "it is one of "+words)
	}
	return policy, err
}

// boolean reads true or false.
func (r *reader) boolean() (bool, error) {
	switch r.next() {
	case 't', 'f':
		word, err := r.raw(len(r.data))
		return string(word) == "true", err
	}
	return false, r.mismatch("true or false")
}

// shownOfSchedule are the fields of a schedule that a reply has and a request cannot set.
var shownOfSchedule = strings.Fields("id state words next_at last_at paused_at waiting_at last_skipped problem body_size version created_at durability")

func unknownScheduleField(key []byte) error {
	switch name := string(key); {
	case slices.Contains(shownOfSchedule, name):
		return refuse("unknown_field", "", "the server sets this field; leave it out")
	case name == "at" || name == "delay":
		return refuse("unknown_field", "", "a schedule has cron or every; for one time, create a task")
	case slices.Contains(scheduledFields, name):
		return refuse("unknown_field", "", "this field belongs into task")
	}
	return noSuchField(key, scheduleFields)
}

// scheduledFields are the fields of a schedule's task.
var scheduledFields = strings.Fields("queue http timeout expire_after priority labels retry on_dead")
