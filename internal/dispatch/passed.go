package dispatch

import (
	"context"
	"log/slog"

	"github.com/foliot/foliot/internal/task"
)

const (
	// countMost is how many instants that were passed over are counted: of one stretch,
	// and of all stretches of a batch. A thousand expressions that were not looked at for a
	// year would take longer to count than to fire.
	countMost = 10_000
	// passesLogged is how many stretches are logged in complaintEvery; of those that an
	// overlap cost, which a schedule may have asked for, one is.
	passesLogged, overlapsLogged = 50, 1
)

// Skipped counts instants of schedules that made no occurrence, by reason. Where very
// many were passed over at once not all are counted.
type Skipped struct{ Misfire, Window, Limit, Overlap uint64 }

// missed is a stretch of instants that a schedule passed over.
type missed struct {
	schedule *task.Task
	task.Skip
	count int // of them, at least 1
}

// passedBy returns what schedules passed over when they were fired.
func passedBy(replies []task.Reply) (all []missed) {
	left := countMost
	for _, r := range replies {
		for _, s := range r.Skipped {
			most := countMost
			if r.Task.Recur.Cron != "" { // whose instants are counted one by one
				most = max(left, 1)
			}
			n := max(r.Task.Recur.Count(s.Span, most), 1)
			left -= n
			all = append(all, missed{r.Task, s, n})
		}
	}
	return all
}

// passed counts what schedules passed over.
func (c *counters) passed(all []missed) {
	for _, m := range all {
		n := uint64(m.count)
		switch m.Why {
		case task.SkippedMisfire:
			c.Skipped.Misfire += n
		case task.SkippedWindow:
			c.Skipped.Window += n
		case task.SkippedLimit:
			c.Skipped.Limit += n
		case task.SkippedOverlap:
			c.Skipped.Overlap += n
		}
	}
}

// fired counts the occurrence that a Fire has made.
func (c *counters) fired(r task.Reply) {
	if r.Spawned != nil {
		c.Fired++
	}
}

// passes logs which instants schedules passed over: of many schedules at once the
// first, and how many more there were.
type passes struct{ complaints }

func (p *passes) log(ctx context.Context, m missed) {
	kind, lines := "missed", passesLogged
	if m.Why == task.SkippedOverlap {
		kind, lines = m.Why, overlapsLogged
	}
	silent, ok := p.turn(kind, lines)
	if !ok {
		return
	}
	p.logger.LogAttrs(ctx, slog.LevelWarn, "a schedule passed over instants",
		slog.String("schedule", m.schedule.ScheduleName()), slog.String("namespace", m.schedule.Namespace), slog.String("why", m.Why),
		slog.Time("from", m.From.Time()), slog.Time("until", m.Until.Time()), slog.Int("instants", m.count), slog.Int("not_logged_before", silent))
}
