package scale

import (
	"context"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Schedules: many schedules that fire once an hour: spread over that hour, then in one
// minute of it, then at one instant.
func Schedules(ctx context.Context, t *harness.Run) error {
	for _, c := range []scheduleCrowd{
		{"hour", time.Hour, t.Options.Watched, 50 * time.Millisecond},
		{"minute", time.Minute, time.Minute, time.Second},
		{"instant", 0, time.Minute, time.Minute},
	} {
		c.watched = min(c.watched, max(c.spread, time.Second))
		if err := fireCrowd(ctx, t, c); err != nil {
			return err
		}
	}
	return nil
}

// scheduleCrowd says when the schedules of a crowd fire.
type scheduleCrowd struct {
	name    string
	spread  time.Duration // over so long
	watched time.Duration // the part of it that is judged
	p99     time.Duration // of the lateness, at most
}

// fireCrowd runs one crowd on a server of its own, which is restarted before the first
// instant.
func fireCrowd(ctx context.Context, t *harness.Run, c scheduleCrowd) error {
	st, err := t.NewEnvironmentIn(ctx, c.name)
	if err != nil {
		return err
	}
	defer st.Close()
	sink, err := receiver.StartFast(st.Path("sunk"))
	if err != nil {
		return err
	}
	defer sink.End()

	const slowest = 2000 // schedules made in a second
	start := timing.DueIn(20*time.Second + time.Duration(t.Options.Schedules)*time.Second/slowest)
	all := verify.Numbered{Prefix: "s", Count: t.Options.Schedules, Due: func(i int) time.Time {
		return timing.SpreadOver(start, c.spread, i, t.Options.Schedules).Truncate(time.Millisecond)
	}}
	if err := makeCrowd(ctx, st, all, sink.URL()); err != nil {
		return err
	}
	if err := restartCrowd(ctx, st); err != nil {
		return err
	}
	t.Must(time.Now().Before(start), "%s: the first instant is %s ahead", c.name, verify.Millis(time.Until(start)))
	seen := all.Before(start.Add(c.watched))
	memory := system.WatchMemory(ctx, st.Server.PID())
	defer memory.End()
	before, err := system.CPUOf(st.Server.PID())
	if err != nil {
		return err
	}
	if err := receiver.AwaitDeliveries(ctx, sink, seen.Count, start.Add(c.watched), 30*time.Second); err != nil {
		return err
	}
	after, err := system.CPUOf(st.Server.PID())
	if err != nil {
		return err
	}
	t.Note("memory while they fire: %v; processor time %.1f s for %d", memory.End(), (after - before).Seconds(), seen.Count)
	return concludeCrowd(st, c, all, seen, sink)
}

// makeCrowd makes the schedules, one request each.
func makeCrowd(ctx context.Context, st *harness.Environment, all verify.Numbered, callback string) error {
	began := time.Now()
	err := timing.InParallel(all.Count, 64, func(i int) error {
		return st.Client.PutSchedule(ctx, all.Name(i), wire.ScheduleInput{
			Every: "1h", Start: wire.FormatTime(all.Due(i)), Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: callback}},
		})
	})
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	st.Run.Note("%d schedules made in %.1f s, %.0f a second", all.Count, took, float64(all.Count)/took)
	return mustFit(st, "after that")
}

func restartCrowd(ctx context.Context, st *harness.Environment) error {
	if err := mustRestart(ctx, st); err != nil {
		return err
	}
	return mustFit(st, "after the restart")
}

func concludeCrowd(st *harness.Environment, c scheduleCrowd, all, seen verify.Numbered, sink *receiver.Fast) error {
	if err := st.StopWith(sink); err != nil {
		return err
	}
	v, err := seen.Tally(all.Occurrences(receiver.ReadDeliveries(sink.Path), seen.Count))
	if err != nil {
		return err
	}
	t := st.Run
	t.Note("%s: %d instants, arrived %d, the last %s after the first", c.name, seen.Count, v.Arrived, verify.Millis(v.Last.Sub(v.First)))
	t.Must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.Must(v.Early.Count == 0, "early %v", v.Early)
	t.Must(v.Repeats == 0, "twice %d", v.Repeats)
	t.Must(v.Strangers == 0, "of no instant %d", v.Strangers)
	p99 := t.Lateness("of occurrences", v.Late)
	t.Must(p99 <= c.p99, "%s: lateness p99 %s, at most %s", c.name, verify.Millis(p99), verify.Millis(c.p99))
	return nil
}
