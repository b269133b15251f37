package client

import (
	"errors"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// This file converts the types of schedules to those of the API and back.

// MarshalJSON returns the spec as the API takes it.
func (s ScheduleSpec) MarshalJSON() ([]byte, error) {
	in, err := s.wire()
	if err != nil {
		return nil, err
	}
	return marshal(in)
}

// UnmarshalJSON reads a spec as the API takes it.
func (s *ScheduleSpec) UnmarshalJSON(data []byte) error {
	return read(data, s, (*decoder).scheduleSpec)
}

// MarshalJSON returns the schedule as the API writes it.
func (s Schedule) MarshalJSON() ([]byte, error) {
	in, err := s.ScheduleSpec.wire()
	if err != nil {
		return nil, err
	}
	in.Runs = &s.Runs
	shown := wire.Schedule{ScheduleInput: in}
	convert(&shown, s, "ScheduleInput")
	return marshal(shown)
}

// UnmarshalJSON reads a schedule as the API writes it.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	return read(data, s, func(d *decoder, w wire.Schedule) Schedule {
		shown := Schedule{ScheduleSpec: d.scheduleSpec(w.ScheduleInput)}
		d.convert(&shown, w, "ScheduleSpec")
		shown.SetRuns = nil // a reply has Runs, not SetRuns
		return shown
	})
}

// MarshalJSON returns the preview as the API writes it.
func (p RulePreview) MarshalJSON() ([]byte, error) { return encode[wire.RulePreview](p) }

// UnmarshalJSON reads the preview as the API writes it.
func (p *RulePreview) UnmarshalJSON(data []byte) error { return decode[wire.RulePreview](data, p) }

// MarshalJSON returns the instant as the API writes it.
func (i Instant) MarshalJSON() ([]byte, error) { return encode[wire.Instant](i) }

// UnmarshalJSON reads the instant as the API writes it.
func (i *Instant) UnmarshalJSON(data []byte) error { return decode[wire.Instant](data, i) }

func (s ScheduleSpec) wire() (wire.ScheduleInput, error) {
	t := s.Task
	if t.Name != "" || !t.At.IsZero() || t.Delay != 0 || !t.FirstAttempt.IsZero() || t.Parent != "" {
		return wire.ScheduleInput{}, errors.New("the task of a schedule must not have a name, time, delay or parent: the schedule sets them")
	}
	task, err := t.wire()
	return wire.ScheduleInput{
		ScheduleRule: s.rule(),
		Paused:       s.Paused, Runs: s.SetRuns, ManagedBy: s.ManagedBy,
		Task: wire.ScheduledTask{
			Queue: task.Queue, HTTP: task.HTTP, Work: task.Work, Timeout: task.Timeout, ExpireAfter: task.ExpireAfter,
			Priority: task.Priority, Labels: task.Labels, Retry: task.Retry, OnDead: task.OnDead,
		},
	}, err
}

// rule returns the fields that select instants.
func (s ScheduleSpec) rule() wire.ScheduleRule {
	anchor := s.Anchor
	if s.Every == 0 || !s.Start.IsZero() {
		anchor = time.Time{}
	}
	return wire.ScheduleRule{
		Cron: s.Cron, Timezone: s.TimeZone, DSTGap: s.DSTGap, DSTOverlap: s.DSTOverlap, Every: duration(s.Every),
		Start: instant(s.Start), End: instant(s.End), Anchor: instant(anchor), MaxRuns: s.MaxRuns, Jitter: duration(s.Jitter),
		Misfire: string(s.Misfire), CatchupWindow: window(s.CatchupWindow), CatchupLimit: s.CatchupLimit, Overlap: string(s.Overlap),
	}
}

func (d *decoder) scheduleSpec(w wire.ScheduleInput) ScheduleSpec {
	return ScheduleSpec{
		Cron: w.Cron, TimeZone: w.Timezone, DSTGap: w.DSTGap, DSTOverlap: w.DSTOverlap, Every: d.duration(w.Every),
		Start: d.instant(w.Start), End: d.instant(w.End), Anchor: d.instant(w.Anchor), MaxRuns: w.MaxRuns, SetRuns: w.Runs, Jitter: d.duration(w.Jitter),
		Misfire: Misfire(w.Misfire), CatchupWindow: d.window(w.CatchupWindow), CatchupLimit: w.CatchupLimit, Overlap: Overlap(w.Overlap),
		Paused: w.Paused, ManagedBy: w.ManagedBy,
		Task: d.spec(wire.TaskInput{
			Queue: w.Task.Queue, HTTP: w.Task.HTTP, Work: w.Task.Work, Timeout: w.Task.Timeout, ExpireAfter: w.Task.ExpireAfter,
			Priority: w.Task.Priority, Labels: w.Task.Labels, Retry: w.Task.Retry, OnDead: w.Task.OnDead,
		}),
	}
}
