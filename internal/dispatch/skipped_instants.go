package dispatch

import (
	"context"
	"log/slog"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

const (
	// countMost bounds how many skipped instants are counted, of one stretch
	// and of all stretches of a batch. A thousand expressions that did not run
	// for a year would take longer to count than to fire.
	countMost = 10_000
	// missedLogged is how many stretches are logged in logEvery. overlapsLogged
	// is the same for skips by overlap, which a schedule may have asked for.
	missedLogged, overlapsLogged = 50, 1
)

// Skipped counts instants of schedules that created no occurrence, by reason.
// If very many were skipped at once, not all are counted.
type Skipped struct{ Misfire, Window, Limit, Quota, Overlap uint64 }

// stretch is a series of instants that a schedule skipped.
type stretch struct {
	schedule *task.Task
	recurrence.Skip
	count int // number of instants, at least 1
}

// skippedBy returns the instants that schedules skipped when they were fired.
func skippedBy(replies []store.Reply) (all []stretch) {
	left := countMost
	for _, r := range replies {
		for _, s := range r.Skipped {
			most := countMost
			if r.Task.Recur.Cron != "" { // its instants are counted one by one
				most = max(left, 1)
			}
			n := max(r.Task.Recur.Count(s.Span, most), 1)
			left -= n
			all = append(all, stretch{r.Task, s, n})
		}
	}
	return all
}

// skipped counts the instants that schedules skipped.
func (c *counters) skipped(all []stretch) {
	for _, m := range all {
		n := uint64(m.count)
		switch m.Why {
		case recurrence.SkippedMisfire:
			c.Skipped.Misfire += n
		case recurrence.SkippedWindow:
			c.Skipped.Window += n
		case recurrence.SkippedLimit:
			c.Skipped.Limit += n
		case recurrence.SkippedQuota:
			c.Skipped.Quota += n
		case recurrence.SkippedOverlap:
			c.Skipped.Overlap += n
		}
	}
}

// skips logs which instants schedules skipped. If many schedules skip at once,
// it logs the first lines and counts the remaining ones.
type skips struct{ sparseLog }

func (s *skips) log(ctx context.Context, m stretch) {
	kind, lines := "missed", missedLogged
	if m.Why == recurrence.SkippedQuota {
		kind = m.Why
	}
	if m.Why == recurrence.SkippedOverlap {
		kind, lines = m.Why, overlapsLogged
	}
	leftOut, ok := s.allow(kind, lines)
	if !ok {
		return
	}
	s.logger.LogAttrs(ctx, slog.LevelWarn, "a schedule skipped instants",
		slog.String("schedule", m.schedule.ScheduleName()), slog.String("namespace", m.schedule.Namespace), slog.String("why", m.Why),
		slog.Time("from", m.From.Time()), slog.Time("until", m.Until.Time()), slog.Int("instants", m.count), slog.Int("not_logged_before", leftOut))
}
