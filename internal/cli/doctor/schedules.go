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
func (f *Report) schedules(ctx context.Context, api *client.Client, at time.Time) (unavailable error) {
	var found schedulesFound
	for s, err := range api.Schedules.List(ctx, client.ScheduleQuery{}) {
		switch {
		case errors.Is(err, client.ErrUnavailable):
			return err
		case err != nil:
			f.add("schedules", false, "cannot examine: %s", f.why(err))
			return nil
		}
		if found.more = found.examined == examinedSchedules; found.more {
			break
		}
		found.take(s, at)
	}
	f.scheduled(&found, at)
	return nil
}

func (k *schedulesFound) take(s *client.Schedule, at time.Time) {
	k.examined++
	switch {
	case s.Problem != "":
		k.problems = append(k.problems, s)
	case !s.NextAt.IsZero() && at.Sub(s.NextAt) > overdueBound:
		k.overdue++
		if k.oldest == nil || s.NextAt.Before(k.oldest.NextAt) {
			k.oldest = s
		}
	}
	if s.LastSkipped != nil && at.Sub(s.LastSkipped.Until) < skippedBound {
		k.skipped++
		if k.latest == nil || s.LastSkipped.Until.After(k.latest.LastSkipped.Until) {
			k.latest = s
		}
	}
}

func (f *Report) scheduled(k *schedulesFound, at time.Time) {
	for _, s := range k.problems[:min(namedProblems, len(k.problems))] {
		f.add("schedules", false, "%s is stuck and creates no tasks: %s", s.Name, wording.Shorten(s.Problem))
	}
	if more := len(k.problems) - namedProblems; more > 0 {
		f.add("schedules", false, "%d more are stuck: find them with foliot cron ls", more)
	}
	if k.oldest != nil {
		f.add("schedules", false, "the instants of %d are overdue, the oldest (%s) for %v: the store refuses their tasks, their shard has no owner, or fire_all still creates missed tasks; the logs of foliot serve show the reason",
			k.overdue, k.oldest.Name, wording.Age(at.Sub(k.oldest.NextAt)))
	}
	if len(k.problems) == 0 && k.oldest == nil {
		f.add("schedules", true, "%s", k.words("the namespace "+f.namespace, f.others))
	}
	if k.skipped > 0 {
		f.add("schedules", true, "%d skipped instants in the last %v, the latest (%s) %s: foliot cron get NAME shows the last skipped instants of each", k.skipped, skippedBound, k.latest.Name, wording.Skipped(k.latest.LastSkipped))
	}
}

// words returns the text of the finding if there is no problem in the namespace
// where. With others, the caller could examine other namespaces too.
func (k *schedulesFound) words(where string, others bool) string {
	rest := ""
	if others {
		rest = "; --namespace NAME examines another namespace"
	}
	switch {
	case k.examined == 0:
		return where + " has none" + rest
	case k.more:
		return fmt.Sprintf("of the first %d in %s, none is overdue or stuck; the other schedules were not examined%s", k.examined, where, rest)
	}
	return fmt.Sprintf("%d in %s, none overdue or stuck%s", k.examined, where, rest)
}
