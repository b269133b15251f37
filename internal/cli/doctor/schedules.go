package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// examinedSchedules bounds the number of schedules of a namespace that are read.
	examinedSchedules = 10_000
	// namedProblems is the number of stuck schedules that are reported by name.
	namedProblems = 5
	// skippedBound is the time for which skipped instants are reported.
	skippedBound = 24 * time.Hour
)

// schedulesFound summarizes the schedules of a namespace.
type schedulesFound struct {
	examined int
	more     bool // some were not examined
	problems []*client.Schedule
	overdue  int
	oldest   *client.Schedule // the most overdue one; nil if none is overdue
	skipped  int
	latest   *client.Schedule // the one that skipped last; nil if none skipped
}

// schedules reports whether the schedules fire. at is the time of the server.
// An error means that the store is unavailable.
func (r *Report) schedules(ctx context.Context, api *client.Client, at time.Time) (unavailable error) {
	var found schedulesFound
	for s, err := range api.Schedules.List(ctx, client.ScheduleQuery{}) {
		switch {
		case errors.Is(err, client.ErrUnavailable):
			return err
		case err != nil:
			r.add("schedules", false, "cannot examine: %s", r.why(err))
			return nil
		}
		if found.more = found.examined == examinedSchedules; found.more {
			break
		}
		found.take(s, at)
	}
	r.scheduled(&found, at)
	return nil
}

func (s *schedulesFound) take(one *client.Schedule, at time.Time) {
	s.examined++
	switch {
	case one.Problem != "":
		s.problems = append(s.problems, one)
	case !one.NextAt.IsZero() && at.Sub(one.NextAt) > overdueBound:
		s.overdue++
		if s.oldest == nil || one.NextAt.Before(s.oldest.NextAt) {
			s.oldest = one
		}
	}
	if one.LastSkipped != nil && at.Sub(one.LastSkipped.Until) < skippedBound {
		s.skipped++
		if s.latest == nil || one.LastSkipped.Until.After(s.latest.LastSkipped.Until) {
			s.latest = one
		}
	}
}

func (r *Report) scheduled(k *schedulesFound, at time.Time) {
	for _, s := range k.problems[:min(namedProblems, len(k.problems))] {
		r.add("schedules", false, "%s is stuck and creates no tasks: %s", s.Name, wording.Shorten(s.Problem))
	}
	if more := len(k.problems) - namedProblems; more > 0 {
		r.add("schedules", false, "%d more are stuck: find them with foliot cron ls", more)
	}
	if k.oldest != nil {
		r.add("schedules", false, "the instants of %d are overdue, the oldest (%s) for %v: the store refuses their tasks, their shard has no owner, or fire_all still creates missed tasks; the logs of foliot serve show the reason",
			k.overdue, k.oldest.Name, wording.Age(at.Sub(k.oldest.NextAt)))
	}
	if len(k.problems) == 0 && k.oldest == nil {
		r.add("schedules", true, "%s", k.words("the namespace "+r.namespace, r.others))
	}
	if k.skipped > 0 {
		r.add("schedules", true, "%d skipped instants in the last %v, the latest (%s) %s: foliot cron get NAME shows the last skipped instants of each", k.skipped, skippedBound, k.latest.Name, wording.Skipped(k.latest.LastSkipped))
	}
}

// words returns the text of the finding if there is no problem in the namespace
// where. With others, the caller could examine other namespaces too.
func (s *schedulesFound) words(where string, others bool) string {
	rest := ""
	if others {
		rest = "; --namespace NAME examines another namespace"
	}
	switch {
	case s.examined == 0:
		return where + " has none" + rest
	case s.more:
		return fmt.Sprintf("of the first %d in %s, none is overdue or stuck; the other schedules were not examined%s", s.examined, where, rest)
	}
	return fmt.Sprintf("%d in %s, none overdue or stuck%s", s.examined, where, rest)
}
