package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
)

const (
	// examinedSchedules bounds what is read of a namespace that has very many.
	examinedSchedules = 10_000
	// toldProblems is how many schedules that cannot be followed are told by name.
	toldProblems = 5
	// skippedBound is for how long it is told that instants were skipped.
	skippedBound = 24 * time.Hour
)

// schedulesFound is what the schedules of a namespace say of themselves.
type schedulesFound struct {
	examined int
	more     bool // not all were
	problems []*client.Schedule
	overdue  int
	oldest   *client.Schedule // the most overdue one; nil: none is
	skipped  int
	latest   *client.Schedule // the one that skipped last; nil: none did
}

// schedules tells whether they fire; at is the server's time. An error says that the store is away.
func (f *Report) schedules(ctx context.Context, api *client.Client, at time.Time) (away error) {
	var found schedulesFound
	for s, err := range api.Schedules.List(ctx, client.ScheduleQuery{}) {
		switch {
		case errors.Is(err, client.ErrUnavailable):
			return err
		case lacksSchedules(err):
			return nil // the server is older than they are
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
	for _, s := range k.problems[:min(toldProblems, len(k.problems))] {
		f.add("schedules", false, "%s cannot be followed, and makes no task: %s", s.Name, wording.Shorten(s.Problem))
	}
	if more := len(k.problems) - toldProblems; more > 0 {
		f.add("schedules", false, "and %d more cannot be followed: foliot cron ls calls them stuck", more)
	}
	if k.oldest != nil {
		f.add("schedules", false, "the instants of %d are overdue, the oldest (%s) for %v: the store takes nothing of what they make, no server has their shard, or fire_all still makes up for many; the logs of foliot serve say which",
			k.overdue, k.oldest.Name, wording.Age(at.Sub(k.oldest.NextAt)))
	}
	if len(k.problems) == 0 && k.oldest == nil {
		f.add("schedules", true, "%s", k.words())
	}
	if k.skipped > 0 {
		f.add("schedules", true, "%d skipped instants in the last %v, the latest (%s) %s: foliot cron get NAME says which each skipped last", k.skipped, skippedBound, k.latest.Name, wording.Skipped(k.latest.LastSkipped))
	}
}

// words is what there is to say where nothing is wrong.
func (k *schedulesFound) words() string {
	switch {
	case k.examined == 0:
		return "this namespace has none"
	case k.more:
		return fmt.Sprintf("nothing overdue, and none stuck, of the first %d of this namespace; the others were not examined", k.examined)
	}
	return fmt.Sprintf("%d of this namespace, nothing overdue, and none stuck", k.examined)
}

// lacksSchedules reports whether a server has no route for schedules.
func lacksSchedules(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}
