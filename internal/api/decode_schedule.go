package api

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/wire"
)

func newSchedule(key task.Key) task.ScheduleSpec {
	s := task.ScheduleSpec{Spec: task.DefaultSpec()}
	s.Key = key
	s.Rule = newRule()
	return s
}

func newRule() recurrence.Rule {
	return recurrence.Rule{CatchupWindow: recurrence.DefaultCatchupWindow, CatchupLimit: recurrence.DefaultCatchupLimit}
}

// decodeSchedule reads the schedule in a request, as decodeTask reads a task.
func (r *reader) decodeSchedule(s *task.ScheduleSpec, defaults func(queue string) task.Spec, bodyLimit int) error {
	given := map[string]bool{}
	rule := &s.Rule
	err := r.Object(func(key []byte) (err error) {
		given[string(key)] = true
		switch string(key) {
		case "name":
			err = r.sameName(s.Name)
		case "task":
			err = r.decodeScheduled(&s.Spec, defaults, bodyLimit)
		default:
			var known bool
			if known, err = r.decodeRuleField(rule, key); !known {
				err = r.decodeScheduleField(s, key)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case !given["task"]:
		return refuse("required", "task", "missing: a schedule needs the template of its tasks, with at least http.url or work.kind")
	}
	return completeRule(rule, given)
}

func (r *reader) decodeRule(rule *recurrence.Rule) error {
	given := map[string]bool{}
	err := r.Object(func(key []byte) error {
		given[string(key)] = true
		known, err := r.decodeRuleField(rule, key)
		switch name := string(key); {
		case known:
			return err
		case slices.Contains(scheduleFields, name):
			return refuse("unknown_field", "", "this field does not select instants: leave it out")
		}
		return noSuchField(key, ruleFields.known)
	})
	if err != nil {
		return err
	}
	return completeRule(rule, given)
}

// decodeRuleField reads a field of a rule, and reports false if no field of a
// rule has that name.
func (r *reader) decodeRuleField(rule *recurrence.Rule, key []byte) (known bool, err error) {
	switch string(key) {
	case "cron":
		err = r.decodeCron(rule)
	case "timezone":
		rule.Zone, err = r.Text()
	case "dst_gap":
		rule.Gap, err = choice(r, "bad_policy", cron.ParseGap, "next", "skip")
	case "dst_overlap":
		rule.Fold, err = choice(r, "bad_policy", cron.ParseOverlap, "first", "both")
	case "every":
		err = r.decodeEvery(rule)
	case "start":
		rule.Start, err = r.bound()
	case "end":
		rule.End, err = r.bound()
	case "anchor":
		rule.Anchor, err = r.bound()
	case "missed":
		rule.Missed, err = choice(r, "bad_policy", recurrence.ParseMissed, "fire_once", "skip", "fire_all")
	case "overlap":
		rule.Overlap, err = choice(r, "bad_policy", recurrence.ParseOverlap, "allow", "skip", "buffer_one")
	default:
		if !ruleFields.has(key) {
			return false, nil
		}
		err = ruleFields.read(r, key, rule)
	}
	return true, err
}

var ruleFields = readerOf[wire.ScheduleRule, recurrence.Rule]("")

// completeRule checks the combination of the given fields, and sets the time
// zone if none was given.
func completeRule(rule *recurrence.Rule, given map[string]bool) error {
	if rule.Every != 0 && (given["dst_gap"] || given["dst_overlap"]) {
		return refuse("conflict", "every", "cannot be combined with dst_gap or dst_overlap: every does not depend on a time zone")
	}
	if !given["timezone"] && rule.Cron != "" {
		rule.Zone = recurrence.DefaultZone
	}
	return nil
}

// bound reads a start or an end, and moves the first instant of 1970 by 1 ms,
// because 0 means that there is none.
func (r *reader) bound() (task.Millis, error) {
	at, err := r.instant()
	return cmp.Or(at, -1), err
}

func (r *reader) decodeCron(rule *recurrence.Rule) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	if invalid, ok := errors.AsType[*recurrence.RuleError](rule.SetCron(text)); ok {
		return refuse(invalid.Code, "", invalid.Detail)
	}
	return nil
}

func (r *reader) decodeEvery(rule *recurrence.Rule) error {
	if rule.Every != 0 { // cron has set it
		return refuse("conflict", "", "a schedule must have either cron or every, not both")
	}
	every, err := r.duration()
	if err == nil && every == 0 { // 0 means that none was given
		err = refuse("out_of_range", "", "must be between 1s and 100 years")
	}
	rule.Every = every
	return err
}

func (r *reader) decodeScheduled(s *task.Spec, defaults func(queue string) task.Spec, bodyLimit int) error {
	f := taskFields{spec: s, plain: fieldsOfTemplate, bodyLimit: bodyLimit}
	err := r.Object(func(key []byte) error {
		switch string(key) {
		case "name":
			return refuse("unknown_field", "", "the names of a schedule's tasks derive from its name and their instants")
		case "at", "delay":
			return refuse("unknown_field", "", "the rule of the schedule sets the due times")
		}
		return f.read(r, key)
	})
	if err != nil {
		return err
	}
	return f.fillDefaults(defaults)
}

// decodeSpan reads the ends of a backfill, and rounds both to milliseconds,
// towards the inside.
func (r *reader) decodeSpan(s *recurrence.Span) error {
	var from, until time.Time
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "from":
			from, err = r.time()
		case "until":
			until, err = r.time()
		default:
			err = refuse("unknown_field", "", "unknown field: a backfill has from and until")
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case from.IsZero():
		return refuse("required", "from", "missing: a backfill needs the time of its first instant, or an earlier one")
	case until.IsZero():
		return refuse("required", "until", "missing: a backfill needs the time of its last instant, or a later one")
	}
	s.From, s.Until = task.CeilMillis(from), task.FloorMillis(until)
	if s.From < 0 || until.Before(from) {
		return refuse("out_of_range", "from", "must be after 1970 and not after until")
	}
	return nil
}

var (
	fieldsOfSchedule   = readerOf[wire.ScheduleInput, task.ScheduleSpec]("")
	readOnlyOfSchedule = replyOnly[wire.Schedule, wire.ScheduleInput]()
)

// decodeScheduleField reads a field that is neither the name, nor the task, nor a
// field of the rule.
func (r *reader) decodeScheduleField(s *task.ScheduleSpec, key []byte) error {
	switch name := string(key); {
	case fieldsOfSchedule.has(key):
		return fieldsOfSchedule.read(r, key, s)
	case readOnlyOfSchedule[name]:
		return refuse("unknown_field", "", "only the server sets this field: leave it out")
	case name == "at" || name == "delay":
		return refuse("unknown_field", "", "a schedule is due by cron or every; for a single time, create a task")
	case slices.Contains(fieldsOfTemplate.known, name):
		return refuse("unknown_field", "", "this field belongs to task")
	}
	return noSuchField(key, scheduleFields)
}
