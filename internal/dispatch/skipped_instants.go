package dispatch

import (
	"context"
	"log/slog"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// countMost bounds how many skipped instants are counted, of one stretch and of
// all stretches of a batch. A thousand expressions that did not run for a year
// would take longer to count than to fire.
const countMost = 10_000

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

// logSkipped logs which instants a schedule skipped.
func (d *Dispatcher) logSkipped(ctx context.Context, m stretch) {
	d.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a schedule skipped instants",
		slog.String("schedule", m.schedule.ScheduleName()), slog.String("namespace", m.schedule.Namespace), slog.String("why", m.Why),
		slog.Time("from", m.From.Time()), slog.Time("until", m.Until.Time()), slog.Int("instants", m.count))
}
