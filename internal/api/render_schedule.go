package api

import (
	"cmp"
	"net/http"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

func (s *Server) replyScheduleChange(w http.ResponseWriter, r *request, status int, t *task.Task) error {
	shown := r.showSchedule(s.now(), t.WithoutBody())
	shown.Durability = s.durability(r)
	return s.replyRecord(w, r, status, shown, t.ETag())
}

// showSchedule returns t as the caller may see it, with its body if it is
// loaded.
func (c *caller) showSchedule(now task.Millis, t *task.Task) wire.Schedule {
	r := t.Recur
	shown := wire.Schedule{
		ScheduleInput: wire.ScheduleInput{ScheduleRule: showRule(&r.Rule)},
		Name:          t.ScheduleName(), ID: t.ID, State: scheduleState(r), Words: words(&r.Rule),
		PausedAt: showOptional(r.PausedAt), WaitingAt: showOptional(r.Waiting),
		Problem: r.Problem, BodySize: t.Request.BodySize, Version: t.Version, CreatedAt: showTime(t.CreatedAt), Authors: c.showAuthors(t),
	}
	shown.Paused, shown.Runs, shown.ManagedBy = &r.Paused, &r.Runs, r.ManagedBy
	shown.Task = wire.ScheduledTask{Queue: r.Queue, Priority: r.Priority.String(), Retry: showRetry(t.Retry)}
	fillTemplate(&shown.Task, t)
	showRequest(&shown.Task.HTTP, &shown.Task.Work, t.Request, c.blind())
	shown.Hidden = c.blind()
	if !r.Paused {
		shown.NextAt = showOptional(r.Next)
	}
	if shown.State == "active" {
		shown.Held = (&comingItem{record: t, due: r.Next}).held(c.settings, now)
	}
	if n := len(r.Fired); n > 0 {
		shown.LastAt = showTime(r.Fired[n-1].Until)
	}
	if k := r.Skipped; k.Why != "" {
		shown.LastSkipped = &wire.SkippedInstants{From: showTime(k.From), Until: showTime(k.Until), Why: k.Why}
	}
	return shown
}

func scheduleState(r *task.Recurrence) string {
	switch {
	case r.Paused:
		return "paused"
	case r.Ended():
		return "ended"
	}
	return "active"
}

func showRule(r *recurrence.Rule) wire.ScheduleRule {
	shown := wire.ScheduleRule{
		Start: showOptional(r.Start), End: showOptional(r.End), MaxRuns: r.MaxRuns, Jitter: showDuration(r.Jitter),
		Missed: r.Missed.String(), CatchupWindow: timespan.Text(r.CatchupWindow), CatchupLimit: r.CatchupLimit, Overlap: r.Overlap.String(),
	}
	if r.Cron == "" {
		shown.Every = timespan.Text(r.Every)
		if r.Start == 0 {
			shown.Anchor = showOptional(r.Anchor)
		}
	} else {
		shown.Cron, shown.TimeZone, shown.DSTGap, shown.DSTOverlap = r.Cron, r.Zone, r.Gap.String(), r.Fold.String()
	}
	return shown
}

var fillTemplate = showing[wire.ScheduledTask, task.Task]("Queue", "Priority", "Retry")

func words(r *recurrence.Rule) string {
	expr, err := cron.Parse(cmp.Or(r.Cron, "@every "+r.Every.String()))
	if err != nil { // impossible: the PUT has parsed it
		return ""
	}
	return cron.Rule{Expr: expr, Gap: r.Gap, Overlap: r.Fold}.Words()
}

// showOrigin returns the schedule and the instant of the task with this name,
// or "" for both.
func showOrigin(name string) (schedule, instant string) {
	schedule, at, ok := task.OccurrenceOf(name)
	if !ok {
		return "", ""
	}
	return schedule, showOptional(at)
}
