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
	shown := wire.Schedule{
		ScheduleInput: in,
		Name:          s.Name, ID: s.ID, State: string(s.State), Words: s.Words,
		NextAt: instant(s.NextAt), LastAt: instant(s.LastAt), PausedAt: instant(s.PausedAt), WaitingAt: instant(s.WaitingAt),
		Problem: s.Problem, Hidden: s.Hidden, BodySize: s.BodySize, Version: s.Version, CreatedAt: instant(s.CreatedAt), Authors: s.Authors.wire(), Durability: s.Durability,
	}
	if k := s.LastSkipped; k != nil {
		shown.LastSkipped = new(k.wire())
	}
	return marshal(shown)
}

// UnmarshalJSON reads a schedule as the API writes it.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	return read(data, s, func(d *decoder, w wire.Schedule) Schedule {
		shown := Schedule{
			ScheduleSpec: d.scheduleSpec(w.ScheduleInput),
			Name:         w.Name, ID: w.ID, State: ScheduleState(w.State), Words: w.Words,
			NextAt: d.instant(w.NextAt), LastAt: d.instant(w.LastAt), PausedAt: d.instant(w.PausedAt), WaitingAt: d.instant(w.WaitingAt),
			Problem: w.Problem, Hidden: w.Hidden, BodySize: w.BodySize, Version: w.Version, CreatedAt: d.instant(w.CreatedAt), Authors: d.authors(w.Authors), Durability: w.Durability,
		}
		shown.SetRuns = nil // a reply has Runs, not SetRuns
		if n := w.Runs; n != nil {
			shown.Runs = *n
		}
		if k := w.LastSkipped; k != nil {
			shown.LastSkipped = new(d.skipped(*k))
		}
		return shown
	})
}

// UnmarshalJSON reads a preview as the API writes it.
func (p *RulePreview) UnmarshalJSON(data []byte) error {
	return read(data, p, func(d *decoder, w wire.RulePreview) RulePreview {
		v := RulePreview{Words: w.Words, Days: w.Days, Instants: d.instants(w.Instants)}
		for _, c := range w.ClockChanges {
			v.ClockChanges = append(v.ClockChanges, ClockChange{At: d.instant(c.At), Local: d.instant(c.Local), Repeats: c.Repeats, Words: c.Words})
		}
		if a := w.Absence; a != nil {
			v.Absence = &Absence{Fired: a.Fired, Latest: d.instants(a.Latest)}
			for _, k := range a.Skipped {
				v.Absence.Skipped = append(v.Absence.Skipped, d.skipped(k))
			}
		}
		return v
	})
}

// MarshalJSON returns the preview as the API writes it.
func (p RulePreview) MarshalJSON() ([]byte, error) {
	w := wire.RulePreview{Words: p.Words, Days: p.Days, Instants: wireInstants(p.Instants), ClockChanges: []wire.ClockChange{}}
	for _, c := range p.ClockChanges {
		w.ClockChanges = append(w.ClockChanges, wire.ClockChange{At: instant(c.At), Local: c.Local.Format(time.RFC3339), Repeats: c.Repeats, Words: c.Words})
	}
	if a := p.Absence; a != nil {
		w.Absence = &wire.Absence{Fired: a.Fired, Latest: wireInstants(a.Latest), Skipped: []wire.SkippedInstants{}}
		for _, k := range a.Skipped {
			w.Absence.Skipped = append(w.Absence.Skipped, k.wire())
		}
	}
	return marshal(w)
}

func (d *decoder) instants(all []wire.Instant) []Instant {
	list := make([]Instant, len(all))
	for i, w := range all {
		list[i] = Instant{At: d.instant(w.At), Local: d.instant(w.Local)}
	}
	return list
}

func wireInstants(all []Instant) []wire.Instant {
	list := make([]wire.Instant, len(all))
	for i, at := range all {
		list[i] = at.wire()
	}
	return list
}

func (i Instant) wire() wire.Instant {
	return wire.Instant{At: instant(i.At), Local: i.Local.Format(time.RFC3339Nano)}
}

func (d *decoder) skipped(w wire.SkippedInstants) SkippedInstants {
	return SkippedInstants{From: d.instant(w.From), Until: d.instant(w.Until), Why: w.Why}
}

func (k SkippedInstants) wire() wire.SkippedInstants {
	return wire.SkippedInstants{From: instant(k.From), Until: instant(k.Until), Why: k.Why}
}

// UnmarshalJSON reads an instant as the API writes it.
func (i *Instant) UnmarshalJSON(data []byte) error {
	return read(data, i, func(d *decoder, w wire.Instant) Instant {
		return Instant{At: d.instant(w.At), Local: d.instant(w.Local)}
	})
}

// MarshalJSON returns the instant as the API writes it.
func (i Instant) MarshalJSON() ([]byte, error) {
	return marshal(i.wire())
}

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
