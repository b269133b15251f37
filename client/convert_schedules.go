package client

import (
	"errors"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// What convert.go is for tasks, for schedules.

// MarshalJSON returns the spec as the API takes it.
func (s ScheduleSpec) MarshalJSON() ([]byte, error) {
	in, err := s.wire()
	if err != nil {
		return nil, err
	}
	return encodeSchedule(in)
}

// UnmarshalJSON reads a schedule as the API takes it.
func (s *ScheduleSpec) UnmarshalJSON(data []byte) error {
	return read(data, s, (*decoder).scheduleSpec)
}

// MarshalJSON returns the schedule as the API shows it.
func (s Schedule) MarshalJSON() ([]byte, error) {
	in, err := s.ScheduleSpec.wire()
	if err != nil {
		return nil, err
	}
	shown := wire.Schedule{
		ScheduleInput: in,
		Name:          s.Name, ID: s.ID, State: string(s.State), Words: s.Words,
		NextAt: instant(s.NextAt), LastAt: instant(s.LastAt), PausedAt: instant(s.PausedAt), Runs: s.Runs, WaitingAt: instant(s.WaitingAt),
		Problem: s.Problem, BodySize: s.BodySize, Version: s.Version, CreatedAt: instant(s.CreatedAt), Durability: s.Durability,
	}
	if k := s.LastSkipped; k != nil {
		shown.LastSkipped = &wire.SkippedInstants{From: instant(k.From), Until: instant(k.Until), Why: k.Why}
	}
	return marshal(shown)
}

// UnmarshalJSON reads a schedule as the API shows it.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	return read(data, s, func(d *decoder, w wire.Schedule) Schedule {
		shown := Schedule{
			ScheduleSpec: d.scheduleSpec(w.ScheduleInput),
			Name:         w.Name, ID: w.ID, State: ScheduleState(w.State), Words: w.Words,
			NextAt: d.instant(w.NextAt), LastAt: d.instant(w.LastAt), PausedAt: d.instant(w.PausedAt), Runs: w.Runs, WaitingAt: d.instant(w.WaitingAt),
			Problem: w.Problem, BodySize: w.BodySize, Version: w.Version, CreatedAt: d.instant(w.CreatedAt), Durability: w.Durability,
		}
		if k := w.LastSkipped; k != nil {
			shown.LastSkipped = &SkippedInstants{From: d.instant(k.From), Until: d.instant(k.Until), Why: k.Why}
		}
		return shown
	})
}

// UnmarshalJSON reads an instant as the API shows it.
func (i *Instant) UnmarshalJSON(data []byte) error {
	return read(data, i, func(d *decoder, w wire.Instant) Instant {
		return Instant{At: d.instant(w.At), Local: d.instant(w.Local)}
	})
}

// MarshalJSON returns the instant as the API shows it.
func (i Instant) MarshalJSON() ([]byte, error) {
	return marshal(wire.Instant{At: instant(i.At), Local: i.Local.Format(time.RFC3339Nano)})
}

func (s ScheduleSpec) wire() (wire.ScheduleInput, error) {
	t := s.Task
	if t.Name != "" || !t.At.IsZero() || t.Delay != 0 {
		return wire.ScheduleInput{}, errors.New("the task of a schedule has no name, time or delay of its own: the schedule gives them to each")
	}
	task, err := t.wire()
	return wire.ScheduleInput{
		Cron: s.Cron, Timezone: s.TimeZone, DSTGap: s.DSTGap, DSTOverlap: s.DSTOverlap, Every: duration(s.Every),
		Start: instant(s.Start), End: instant(s.End), MaxRuns: s.MaxRuns, Jitter: duration(s.Jitter),
		Misfire: string(s.Misfire), CatchupWindow: limit(s.CatchupWindow), CatchupLimit: s.CatchupLimit, Overlap: string(s.Overlap),
		Paused: s.Paused,
		Task: wire.ScheduledTask{
			Queue: task.Queue, HTTP: task.HTTP, Timeout: task.Timeout, ExpireAfter: task.ExpireAfter,
			Priority: task.Priority, Labels: task.Labels, Retry: task.Retry, OnDead: task.OnDead,
		},
	}, err
}

func (d *decoder) scheduleSpec(w wire.ScheduleInput) ScheduleSpec {
	return ScheduleSpec{
		Cron: w.Cron, TimeZone: w.Timezone, DSTGap: w.DSTGap, DSTOverlap: w.DSTOverlap, Every: d.duration(w.Every),
		Start: d.instant(w.Start), End: d.instant(w.End), MaxRuns: w.MaxRuns, Jitter: d.duration(w.Jitter),
		Misfire: Misfire(w.Misfire), CatchupWindow: d.limit(w.CatchupWindow), CatchupLimit: w.CatchupLimit, Overlap: Overlap(w.Overlap),
		Paused: w.Paused,
		Task: d.spec(wire.TaskInput{
			Queue: w.Task.Queue, HTTP: w.Task.HTTP, Timeout: w.Task.Timeout, ExpireAfter: w.Task.ExpireAfter,
			Priority: w.Task.Priority, Labels: w.Task.Labels, Retry: w.Task.Retry, OnDead: w.Task.OnDead,
		}),
	}
}
