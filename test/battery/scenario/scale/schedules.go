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

// Schedules: many schedules that fire once an hour. They fire spread over the
// hour, then within one minute, then at one instant.
func Schedules(ctx context.Context, t *harness.Run) {
	for _, c := range []scheduleCrowd{
		{"hour", time.Hour, t.Options.Watched, 50 * time.Millisecond},
		{"minute", time.Minute, time.Minute, time.Second},
		{"instant", 0, time.Minute, time.Minute},
	} {
		c.watched = min(c.watched, max(c.spread, time.Second))
		t.Part(c.name, func() { fireCrowd(ctx, t, c) })
	}
}

// scheduleCrowd says when the schedules of a crowd fire.
type scheduleCrowd struct {
	name    string
	spread  time.Duration // over this time
	watched time.Duration // the part of it that is judged
	p99     time.Duration // of the lateness, at most
}

// fireCrowd runs one crowd on a server of its own. The server is restarted
// before the first instant.
func fireCrowd(ctx context.Context, t *harness.Run, c scheduleCrowd) {
	st := t.NewEnvironmentIn(ctx, c.name)
	fast := st.StartFast("127.0.0.1:0")
	const slowest = 2000 // schedules made in a second
	start := timing.DueIn(20*time.Second + time.Duration(t.Options.Schedules)*time.Second/slowest)
	all := verify.Numbered{Prefix: "s", Count: t.Options.Schedules, Due: func(i int) time.Time {
		return timing.SpreadOver(start, c.spread, i, t.Options.Schedules).Truncate(time.Millisecond)
	}}
	makeCrowd(ctx, st, all, fast.URL())
	mustRestart(ctx, st)
	mustFit(st, "after the restart")
	t.Must(time.Now().Before(start), "%s: the first instant is %s ahead", c.name, verify.Millis(time.Until(start)))
	seen := all.Before(start.Add(c.watched))
	memory := system.WatchMemory(ctx, st.Server.PID())
	defer memory.End()
	before := harness.OK(system.CPUOf(st.Server.PID()))
	harness.Check(fast.Await(ctx, seen.Count, start.Add(c.watched), 30*time.Second))
	after := harness.OK(system.CPUOf(st.Server.PID()))
	t.Note("memory while they fire: %v; processor time %.1f s for %d", memory.End(), (after - before).Seconds(), seen.Count)
	concludeCrowd(st, c, all, seen, fast)
}

// makeCrowd makes the schedules, one request each.
func makeCrowd(ctx context.Context, st *harness.Environment, all verify.Numbered, callback string) {
	began := time.Now()
	harness.Check(timing.InParallel(all.Count, 64, func(i int) error {
		return st.Client.PutSchedule(ctx, all.Name(i), wire.ScheduleInput{
			ScheduleRule: wire.ScheduleRule{Every: "1h", Start: wire.FormatTime(all.Due(i))}, Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: callback}},
		})
	}))
	took := time.Since(began).Seconds()
	st.Run.Note("%d schedules made in %.1f s, %.0f a second", all.Count, took, float64(all.Count)/took)
	mustFit(st, "after that")
}

func concludeCrowd(st *harness.Environment, c scheduleCrowd, all, seen verify.Numbered, fast *receiver.Fast) {
	st.StopWith(fast)
	v := harness.OK(seen.Check(all.Occurrences(receiver.ReadDeliveries(fast.Path), seen.Count)))
	t := st.Run
	t.Note("%s: %d instants, arrived %d, the last %s after the first", c.name, seen.Count, v.Arrived, verify.Millis(v.Last.Sub(v.First)))
	t.Must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.Must(v.Early.Count == 0, "early %v", v.Early)
	t.Must(v.Repeats == 0, "twice %d", v.Repeats)
	t.Must(v.Unknown == 0, "of no instant %d", v.Unknown)
	p99 := t.Lateness("of occurrences", v.Late)
	t.Must(p99 <= c.p99, "%s: lateness p99 %s, at most %s", c.name, verify.Millis(p99), verify.Millis(c.p99))
}
