package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

// examinedSchedules bounds the number of schedules of a namespace that are read.
const examinedSchedules = 10_000

// schedulesFound summarizes the schedules of a namespace.
type schedulesFound struct {
	examined int
	more     bool // some were not examined
	stuck    int
	problem  *client.Schedule // the first that is stuck; nil if none is
	overdue  int
	oldest   *client.Schedule // the most overdue one; nil if none is overdue
}

// schedules reports whether the schedules fire. at is the time of the server.
// An error means that the store is unavailable.
func (r *Report) schedules(ctx context.Context, api *client.Client, at time.Time) (unavailable error) {
	var found schedulesFound
	for s, err := range api.Schedules.List(ctx, client.ScheduleQuery{}) {
		if err != nil {
			return r.unread("schedules", err)
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
		if s.stuck++; s.problem == nil {
			s.problem = one
		}
	case !one.NextAt.IsZero() && at.Sub(one.NextAt) > overdueBound:
		s.overdue++
		if s.oldest == nil || one.NextAt.Before(s.oldest.NextAt) {
			s.oldest = one
		}
	}
}

func (r *Report) scheduled(k *schedulesFound, at time.Time) {
	if k.problem != nil {
		r.add("schedules", false, "stuck schedules, which create no tasks: %d, the first (%s): %s; foliot cron ls shows the others", k.stuck, k.problem.Name, wording.Shorten(k.problem.Problem))
	}
	if k.oldest != nil {
		r.add("schedules", false, "the instants of %d are overdue, the oldest (%s) for %v: the store refuses their tasks, their shard has no owner, or fire_all still creates missed tasks; the logs of foliot serve show the reason",
			k.overdue, k.oldest.Name, wording.Age(at.Sub(k.oldest.NextAt)))
	}
	if k.problem == nil && k.oldest == nil {
		r.add("schedules", true, "%s", k.words("the namespace "+r.namespace, r.others))
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
